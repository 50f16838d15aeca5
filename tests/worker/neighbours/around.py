"""Asks what else is loaded."""

import sys


class Base:
    pass


def inherit(x):
    return x * float(len(Base.__subclasses__()))


def loaded(x):
    return x * (2.0 if "inherits" in sys.modules else 1.0)
