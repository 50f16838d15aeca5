"""Modules that do harm to the process that imports and traces them, as data."""
# ruff: noqa: E501 - lines of modules, as they are written

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """A module ``source`` whose ``f`` a page names.

    ``expected`` is ``told`` for one warning, ``shown`` for its program and no warning,
    ``any`` for either.  With ``short`` it is in the short form.
    """

    name: str
    source: str
    expected: str = "any"
    args: str = "x=f32[3]"
    short: bool = False


def _importing(name: str, body: str, expected: str = "any", *, short: bool = False) -> Hostile:
    """What a module does when it is imported, beside an honest function."""
    honest = "\n\ndef f(x):\n    return jnp.cos(x) * 2\n"
    return Hostile(name, _HEAD + textwrap.dedent(body).strip("\n") + honest, expected, short=short)


def _tracing(name: str, body: str, expected: str = "any", *, short: bool = False) -> Hostile:
    """What a function does when it is traced, before an honest line."""
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    source = f"{_HEAD}\n\ndef f(x):\n{inner}\n    return jnp.cos(x) * 2\n"
    return Hostile(name, source, expected, short=short)


def _whole(name: str, body: str, expected: str = "any", *, short: bool = False) -> Hostile:
    """A module with its own ``f``."""
    return Hostile(name, _HEAD + textwrap.dedent(body).strip("\n") + "\n", expected, short=short)


_HEAD = "import os, sys, time\nimport jax\nimport jax.numpy as jnp\n\n"

#: Replaces something that others use.
_PATCHED = {
    "json-dumps": "import json; json.dumps = None; json.loads = None",
    "builtins-len": "import builtins; builtins.len = lambda x: 1 / 0",
    "builtins-isinstance": "import builtins; builtins.isinstance = lambda *a: True",
    "builtins-getattr": "import builtins; builtins.getattr = lambda *a: None",
    "builtins-str": "import builtins; builtins.str = None; builtins.repr = None",
    "builtins-print": "import builtins; builtins.print = sys.exit",
    "import": "import builtins; builtins.__import__ = lambda *a, **k: 1 / 0",
    "open": "import builtins, io; builtins.open = io.open = lambda *a, **k: 1 / 0",
    "time": "time.monotonic = time.time = time.perf_counter = lambda: -1e300",
    "getpid": "os.getpid = lambda: 1",
    "os-write": "os.write = os.read = os.stat = os._exit = None",
    "path": "os.path.join = os.path.exists = os.path.isfile = lambda *a: 1 / 0",
    "threading": "import threading; threading.Thread = threading.get_ident = None",
    "re": "import re; re.compile = re.sub = re.search = lambda *a, **k: 1 / 0",
    "inspect": "import inspect; inspect.signature = inspect.unwrap = lambda *a, **k: 1 / 0",
    "make-jaxpr": "jax.make_jaxpr = lambda *a, **k: None",
    "tree-map": "jax.tree.map = jax.tree.leaves = jax.tree.structure = lambda *a, **k: None",
    "struct": "jax.ShapeDtypeStruct = jax.Array = None",
    "tanh": "jnp.sin = jnp.tanh = jnp.exp",
    "traceback": "import traceback; traceback.format_exception = traceback.walk_tb = None",
    "linecache": "import linecache; linecache.getline = lambda *a: 1 / 0; linecache.cache.clear()",
    "hashlib": "import hashlib; hashlib.sha256 = hashlib.new = lambda *a, **k: 1 / 0",
    "dataclasses": "import dataclasses; dataclasses.replace = dataclasses.fields = None",
    "encodings": "import codecs; codecs.lookup = codecs.encode = lambda *a: 1 / 0",
    "ours-server": "from sphinx_jaxpr.worker import server as s; s.Server.answer = s.dumps = None",
    "ours-tracer": "from sphinx_jaxpr.worker import tracer as t; t.Tracer.trace = None",
    "ours-facts": "from sphinx_jaxpr.worker.facts import facts; facts.collect = lambda *a: {}",
    "ours-failures": "from sphinx_jaxpr.worker import failures; failures.describe = None",
    "ours-isolation": "from sphinx_jaxpr.worker.isolation import isolation as i; i.Isolation._end = None",
    "ours-gone": "for n in [n for n in sys.modules if 'sphinx_jaxpr' in n]: del sys.modules[n]",
}

_AT_IMPORT = {
    "exit": ("sys.exit(3)", "told"),
    "os-exit": ("os._exit(0)", "told"),
    "abort": ("os.abort()", "told"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "told"),
    "interrupt": ("raise KeyboardInterrupt", "told"),
    "generator-exit": ("raise GeneratorExit", "told"),
    "base-exception": ("class E(BaseException): pass\nraise E('no')", "told"),
    "syntax": ("def g(:", "told"),
    "loop": ("while True: pass", "told"),
    "flood": (
        "for _ in range(200): sys.stdout.write('x' * 10**5); os.write(2, b'y' * 10**5)",
        "any",
    ),
    "modules-clear": ("sys.modules.clear()", "any"),
    "modules-none": ("sys.modules['json'] = sys.modules['jax'] = None", "any"),
    "finder": (
        "class F:\n    def find_spec(self, *a, **k): raise RuntimeError(1)\nsys.meta_path.insert(0, F())",
        "any",
    ),
    "no-finders": ("sys.meta_path.clear(); sys.path_hooks.clear()", "any"),
    "path-clear": ("sys.path.clear()", "any"),
    "path-junk": ("sys.path[:] = [None, 3, b'x', '\\0', sys]", "any"),
    "audit": (
        "n = [0]\ndef hook(event, args):\n    n[0] += 1\n    if n[0] > 500: raise RuntimeError(event)\n"
        "sys.addaudithook(hook)",
        "any",
    ),
    "trace": ("def t(*a): raise RuntimeError('t')\nsys.settrace(t)", "any"),
    "profile": ("def t(*a): raise RuntimeError('t')\nsys.setprofile(t)", "any"),
    "recursion": ("sys.setrecursionlimit(80)", "any"),
    "recursion-high": ("sys.setrecursionlimit(10**9)", "any"),
    "files-limit": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))", "any"),
    "cpu-limit": ("import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))", "any"),
    "size-limit": ("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", "any"),
    "alarm": ("import signal; signal.setitimer(signal.ITIMER_REAL, 0.01)", "any"),
    "handlers": (
        "import signal\nfor s in (1, 2, 3, 10, 12, 13, 15): signal.signal(s, signal.SIG_IGN)",
        "shown",
    ),
    "gc": ("import gc; gc.disable(); gc.set_threshold(1); gc.freeze()", "shown"),
    "closed": ("os.closerange(0, 3)", "any"),
    "no-stdout": ("sys.stdout = sys.stderr = sys.stdin = None", "shown"),
    "stdout-shut": ("sys.stdout.close(); sys.stderr.close()", "any"),
    "chdir": ("os.chdir('/')", "shown"),
    "umask": ("os.umask(0o777)", "shown"),
    "environment": ("os.environ.clear()", "any"),
    "atexit": ("import atexit; atexit.register(time.sleep, 10**6)", "shown"),
    "thread": (
        "import threading; threading.Thread(target=time.sleep, args=(10**6,)).start()",
        "any",
    ),
    "busy-thread": (
        "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()",
        "any",
    ),
    "raising-thread": (
        "import threading; threading.Thread(target=lambda: 1 / 0).start()",
        "any",
    ),
    "faulthandler": ("import faulthandler; faulthandler.dump_traceback_later(1, exit=True)", "any"),
    "tracemalloc": ("import tracemalloc; tracemalloc.start(50)", "any"),
    "warnings": ("import warnings; warnings.simplefilter('error')", "any"),
    "excepthook": ("sys.excepthook = sys.unraisablehook = sys.exit; sys.breakpointhook()", "any"),
    "displayhook": ("sys.displayhook = None; sys.argv = None; del sys.path_importer_cache", "any"),
    "config-junk": (
        "jax.config.update('jax_default_matmul_precision', 'no such precision')",
        "told",
    ),
    "config-checks": ("jax.config.update('jax_enable_checks', True)", "shown"),
    "config-disable-jit": ("jax.config.update('jax_disable_jit', True)", "any"),
    "file-lies": ("__file__ = '/etc/passwd'; __spec__ = None; __loader__ = 3", "any"),
    "name-lies": ("__name__ = 'json'; __package__ = 7; __path__ = 'x'", "any"),
    "becomes-other": ("sys.modules[__name__] = os", "told"),
    "becomes-none": ("sys.modules[__name__] = None", "told"),
    "loop-import": ("import importlib; importlib.reload(sys.modules[__name__])", "any"),
    "deleted": ("os.remove(__file__)", "any"),
    "undecodable": ("open(__file__, 'wb').write(b'\\xff\\xfe\\0\\0' * 99)", "any"),
    "rewritten": ("open(__file__, 'w').write('SECRET ' * 99)", "any"),
    "linecache-poisoned": (
        "import linecache; linecache.cache[__file__] = (1, None, [None, 3, b'x'], __file__)",
        "any",
    ),
    "many-names": ("globals().update({f'n{i}': i for i in range(10**5)})", "any"),
    "names-junk": ("globals().update({3: 4, None: 5, ('a',): 6})", "any"),
    "int-digits": ("sys.set_int_max_str_digits(640)", "any"),
    "switch-interval": ("sys.setswitchinterval(1e-7)", "shown"),
    "memory": ("block = [b'x' * 10**9 for _ in range(10**4)]", "told"),
}

_AT_TRACE = {
    "exit": ("sys.exit('bye')", "told"),
    "os-exit": ("os._exit(0)", "told"),
    "loop": ("while True: pass", "told"),
    "sleep": ("time.sleep(10**6)", "told"),
    "recursion": ("return f(x)", "told"),
    "deep-nesting": ("for _ in range(300): x = jax.jit(lambda y, x=x: y + x)(x)", "any"),
    "huge-message": ("raise ValueError('m' * 10**7)", "told"),
    "markup-message": ("raise ValueError('<script>alert(1)</script>\\x1b[31m\\u202e')", "told"),
    "surrogates": ("raise ValueError('\\ud800 \\udfff')", "told"),
    "group": (
        "raise BaseExceptionGroup('many', [ValueError(str(i)) for i in range(10000)])",
        "told",
    ),
    "deep-group": (
        "e = ValueError('x')\nfor _ in range(5000): e = ExceptionGroup('g', [e])\nraise e",
        "told",
    ),
    "deep-cause": (
        "e = None\nfor _ in range(20000):\n    n = ValueError('x'); n.__cause__ = e; e = n\nraise e",
        "told",
    ),
    "cycle-cause": (
        "a = ValueError('a'); b = ValueError('b'); a.__cause__ = b; b.__cause__ = a\nraise a",
        "told",
    ),
    "str-raises": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        "told",
    ),
    "str-hangs": (
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        "told",
    ),
    "str-is-none": ("class E(Exception):\n    def __str__(self): return None\nraise E", "told"),
    "str-exits": ("class E(Exception):\n    def __str__(self): sys.exit(2)\nraise E", "told"),
    "no-traceback": (
        "class E(Exception):\n    __traceback__ = property(lambda s: 1 / 0)\nraise E('x')",
        "told",
    ),
    "notes-lie": (
        "class E(Exception):\n    __notes__ = property(lambda s: 1 / 0)\nraise E('x')",
        "told",
    ),
    "args-lie": (
        "class E(Exception):\n    args = property(lambda s: 1 / 0)\nraise E('x')",
        "told",
    ),
    "class-lies": (
        "class E(Exception):\n    __class__ = property(lambda s: 1 / 0)\nraise E('x')",
        "told",
    ),
    "getattribute": (
        "class E(Exception):\n    def __getattribute__(self, n): raise KeyError(n)\nraise E('x')",
        "told",
    ),
    "odd-name": (
        "raise type('E<b>\\x1b\\n' + 'x' * 9999, (Exception,), {})('x')",
        "told",
    ),
    "metaclass": (
        "class M(type):\n    __name__ = property(lambda c: 1 / 0)\n    __mro__ = property(lambda c: 1 / 0)\n"
        "class E(Exception, metaclass=M): pass\nraise E('x')",
        "told",
    ),
    "syntax-error": ("raise SyntaxError('m', (b'f', 'l', [], 3))", "told"),
    "syntax-secret": ("raise SyntaxError('m', (SECRET, 1, 1, None))", "told"),
    "filename-secret": (
        "exec(compile('raise ValueError(1)', SECRET, 'exec'))",
        "told",
    ),
    "filename-markup": (
        "exec(compile('raise ValueError(1)', '<b>\\x1b</b>\\n.py', 'exec'))",
        "told",
    ),
    "closes-files": ("os.closerange(3, 64)", "any"),
    "leaks": ("global kept; kept = x", "shown"),
    "returns-junk": ("return object()", "told"),
    "returns-cycle": ("a = []; a.append(a); return a", "told"),
    "returns-many": ("return [x] * 20000", "any"),
    "returns-generator": ("return (x for _ in iter(int, 1))", "told"),
    "prints": ("jax.debug.print('<script>{}', x)", "shown"),
    "scope-name": (
        "with jax.named_scope('</pre><script>alert(1)</script>'): x = x + 1",
        "shown",
    ),
    "forks": ("if os.fork() == 0: raise SystemExit", "any"),
}

_MODULES = [
    _whole(
        "param-repr-hangs",
        """
        from jax.extend.core import Primitive
        class P:
            def __repr__(self):
                while True: pass
            def __hash__(self): return 1
            def __eq__(self, other): return self is other
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=P())
        """,
        "told",
    ),
    _whole(
        "param-repr-raises",
        """
        from jax.extend.core import Primitive
        class P:
            def __repr__(self): raise SystemExit(1)
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=P())
        """,
        "told",
        short=True,
    ),
    _whole(
        "param-repr-huge",
        """
        from jax.extend.core import Primitive
        class P:
            def __repr__(self): return "<i>" + "x" * 10**6
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=P())
        """,
    ),
    _whole(
        "param-jaxpr-loops",
        """
        from jax.extend.core import Primitive
        class P:
            jaxpr = property(lambda self: P())
            eqns = property(lambda self: iter(int, 1))
            invars = ()
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=P())
        """,
    ),
    _whole(
        "param-any-attribute",
        """
        from jax.extend.core import Primitive
        class P:
            def __getattr__(self, name): return P()
            def __call__(self, *a, **k): return P()
            def __iter__(self): return iter(P, 1)
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=P())
        """,
    ),
    _whole(
        "param-cyclic",
        """
        from jax.extend.core import Primitive
        a = []; a.append(a); d = {}; d["d"] = (d, a)
        p = Primitive("p"); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, a=a, d=d)
        """,
        short=True,
    ),
    _whole(
        "param-name",
        """
        from jax.extend.core import Primitive
        p = Primitive("p</pre><script>\\n\\x00{ } [ ="); p.def_abstract_eval(lambda x, **k: x)
        def f(x): return p.bind(x, **{"a b=\\n<b>": "]\\n in (a,) }"})
        """,
    ),
    _whole(
        "abstract-eval-junk",
        """
        from jax.extend.core import Primitive
        p = Primitive("p"); p.def_abstract_eval(lambda x: 3)
        def f(x): return p.bind(x)
        """,
        "told",
    ),
    _whole(
        "broken-jaxpr",
        """
        class f:
            eqns = [1, None, "x"]; invars = [3]; outvars = None; constvars = 7; consts = "abc"
            jaxpr = property(lambda self: self)
        f = f()
        """,
        "told",
        short=True,
    ),
    _whole(
        "looping-jaxpr",
        """
        class F:
            invars = outvars = constvars = (); consts = ()
            def __getattr__(self, name): return self
            def __iter__(self): return iter(lambda: self, 1)
        f = F()
        """,
    ),
    _whole(
        "edited-jaxpr",
        """
        f = jax.make_jaxpr(lambda x: x + 1)(1.0)
        f.jaxpr.eqns.append(f.jaxpr.eqns[0]); f.jaxpr.eqns.insert(0, None)
        """,
    ),
    _whole(
        "signature-lies",
        """
        import inspect
        def f(x): return jnp.cos(x)
        f.__signature__ = inspect.Signature([inspect.Parameter("y", inspect.Parameter.KEYWORD_ONLY)])
        """,
        "told",
    ),
    _whole(
        "signature-junk",
        """
        def f(x): return jnp.cos(x)
        f.__signature__ = "x, y"; f.__wrapped__ = f; f.__name__ = "a b"; f.__module__ = 3; f.__doc__ = b""
        """,
        short=True,
    ),
    _whole(
        "signature-raises",
        """
        class F:
            __signature__ = property(lambda self: sys.exit(1))
            __name__ = property(lambda self: 1 / 0)
            __module__ = property(lambda self: 1 / 0)
            __wrapped__ = property(lambda self: 1 / 0)
            def __call__(self, x): return jnp.cos(x)
        f = F()
        """,
    ),
    _whole(
        "hash-and-eq",
        """
        class F:
            def __hash__(self): raise RuntimeError("hash")
            def __eq__(self, other): raise RuntimeError("eq")
            def __bool__(self): raise RuntimeError("bool")
            def __len__(self): return -1
            def __repr__(self): raise RuntimeError("repr")
            def __call__(self, x): return jnp.cos(x)
        f = F()
        """,
    ),
    _whole(
        "any-attribute",
        """
        class F:
            def __getattr__(self, name): return self
            def __call__(self, *a, **k): return self
        f = F()
        """,
    ),
    _whole(
        "getattr-hangs",
        """
        class F:
            def __getattr__(self, name):
                while True: pass
            def __call__(self, x): return jnp.cos(x)
        f = F()
        """,
    ),
    _whole("class-is-not", "class F:\n    __class__ = property(lambda s: 1 / 0)\nf = F()", "told"),
    _whole("module-getattr", "def __getattr__(name): raise SystemExit(name)", "told"),
    _whole("module-getattr-hangs", "def __getattr__(name):\n    while True: pass", "told"),
    _whole(
        "code-secret",
        """
        def f(x): return jnp.cos(x)
        f.__code__ = f.__code__.replace(co_filename=SECRET, co_firstlineno=1)
        """,
        short=True,
    ),
    _whole(
        "code-markup",
        """
        def f(x): return jnp.cos(x)
        f.__code__ = f.__code__.replace(co_filename="<b>\\n\\x1b", co_name="<i>&", co_firstlineno=10**6)
        """,
    ),
    _whole(
        "code-endless-file",
        """
        def f(x): return jnp.cos(x)
        f.__code__ = f.__code__.replace(co_filename="/dev/zero", co_firstlineno=1)
        """,
    ),
    _whole(
        "effect",
        """
        from jax.extend.core import Primitive
        class E:
            def __str__(self): raise SystemExit(1)
            __repr__ = __str__
        p = Primitive("p"); p.def_effectful_abstract_eval(lambda x: (x, {E()}))
        def f(x): return p.bind(x)
        """,
    ),
    _whole("odd-names", "def f(ﬁ): return jnp.cos(ﬁ)\n", "any"),
    _whole("docstring", 'def f(x):\n    "</script>\\x00\\ud800"\n    return jnp.cos(x)\n', "any"),
]

HOSTILE = (
    *(_importing(f"patched-{name}", text) for name, text in _PATCHED.items()),
    *(_importing(f"import-{name}", *given) for name, given in _AT_IMPORT.items()),
    *(_tracing(f"trace-{name}", *given) for name, given in _AT_TRACE.items()),
    *_MODULES,
)

#: Those of the short form: no two that cost a worker each.
SHORT = frozenset(
    """patched-json-dumps patched-builtins-getattr patched-make-jaxpr patched-ours-tracer
    import-exit trace-str-raises trace-group trace-filename-secret
    trace-markup-message import-linecache-poisoned""".split()
) | {one.name for one in _MODULES if one.short}
