import sys
import types

sys.modules[__name__] = types.SimpleNamespace(f=lambda x: x * 3.0)
