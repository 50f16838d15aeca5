"""The fault table: what real builds are put through, and what of it holds.

``python -m tests.faults`` runs it.  A module of this package that has ``ROWS`` adds rows;
:mod:`tests.faults.rows` says what one is.
"""
