"""Puts another module in its place."""

import sys
import types


class Lazy(types.ModuleType):
    def __getattr__(self, name):
        if name == "g":
            return lambda x: x * 3.0
        raise AttributeError(name)


sys.modules[__name__] = Lazy(__name__)
sys.modules[__name__].f = lambda x: x * 2.0
