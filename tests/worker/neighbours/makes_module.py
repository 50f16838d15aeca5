import sys
import types

made = types.ModuleType("made")
made.VALUE = 3.0
sys.modules["made"] = made


def f(x):
    import made

    return x * made.VALUE
