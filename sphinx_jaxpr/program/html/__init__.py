"""From a parsed program, with its facts and match, to HTML; without Sphinx."""
