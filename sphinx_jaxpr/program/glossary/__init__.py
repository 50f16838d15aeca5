"""glossary."""
