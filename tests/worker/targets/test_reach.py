"""``jaxpr_allowed_modules``: which names a page may have called or passed on, and which not."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.failures import RequestError
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.targets.reach import published
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import house

ALLOWED = (house.__name__,)
LISTED = f"jaxpr_allowed_modules ({house.__name__})"


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def trace(
    tracer: Tracer, target: str, args: str = "", static: str = "", mesh: str = "", **more: Any
) -> dict[str, Any]:
    wanted = Request(
        target if ":" in target or target.startswith("tests.") else f"{house.__name__}:{target}",
        grammar.arguments(args),
        grammar.static(static),
        allowed=more.pop("allowed", ALLOWED),
        mesh=grammar.mesh(mesh),
        **more,
    )
    return tracer.trace(wanted, tracer.prepare(wanted, lambda module: None)).to_json()


# -- what must not be called

TARGETS = [
    # of JAX and numpy, through a module
    ("jnp.load", "numpy"),
    ("jnp.save", "numpy"),
    ("jnp.savez", "numpy"),
    ("jnp.tanh", "jax"),
    ("jax.nn.relu", "jax"),
    ("nn.relu", "jax"),
    ("lax.add", "jax"),
    ("jax.profiler.start_trace", "jax.profiler"),
    ("jax.profiler.start_server", "jax.profiler"),
    ("jax.distributed.initialize", "jax.distributed"),
    ("jax.clear_caches", "jax"),
    ("jax.debug.print", "jax.debug"),
    ("jax.pure_callback", "jax"),
    ("jax.config.update", "Config"),
    ("jax.jit", "jax"),
    ("np.save", "numpy"),
    ("os.system", "os"),
    ("house_guest.strange", "house_guest"),
    # by a name of its own
    ("system", "posix"),
    ("opener", "io"),
    ("evaluate", "builtins"),
    ("load_it", "numpy"),
    ("strange", "house_guest"),
    ("numpy_sin", "numpy"),
    ("appended", "list"),
    ("config_update", "Config"),
    ("Base", "house_guest"),
    ("guest", "house_guest"),
    ("guest.inherited", "house_guest"),
    ("guest_method", "house_guest"),
    ("contextmanager", "contextlib"),
    ("dataclass", "dataclasses"),
    ("made_by_exec", "does not name"),
    ("initializer", "jax._src.nn.initializers"),
    # under layers
    ("loads", "numpy"),
    ("saves", "numpy"),
    ("deep", "numpy"),
    ("mapped", "numpy"),
    ("bound", "numpy"),
    ("noted", "numpy"),
    ("remembered", "numpy"),
    ("tree", "numpy"),
    ("guest_wrapped", "numpy"),
    ("gelu", "jax"),
    ("squashed", "jax"),
    ("lower", "PjitFunction"),
    ("tangent", "jax"),
    # through classes and objects
    ("Linear.thief", "numpy"),
    ("Linear.console", "posix"),
    ("linear.thief", "numpy"),
    ("linear.loader", "numpy"),
    ("Linear.mro", "type"),
    ("derived.inherited", "house_guest"),
    ("derived", "house_guest"),
    ("proxy", "numpy"),
    ("Mapped", "memmap"),
    ("Stream", "FileIO"),
    ("wrong.with_traceback", "BaseException"),
    ("params.index", "tuple"),
    ("Act.RELU.value.upper", "str"),
    ("space.load", "numpy"),
    ("space.inner.system", "os"),
    ("log.manager.getLogger", "logging"),
    ("log.info", "logging"),
    ("half.func", "partial"),
    ("leaf.func", "Partial"),
    ("jitted.lower", "PjitFunction"),
    ("softplus.defjvp", "custom_jvp"),
    ("linear.forward.im_func", "method"),
    ("guest_settings.act", "Settings"),
    ("frame.f_globals.clear", "frame"),
    ("generator.gi_frame.clear", "generator"),
    ("handlers.clear", "dict"),
    ("environ.get", "Environ"),
    # that a class or an object makes when it is asked or called
    ("given", "house_guest"),
    ("given.scale", "house_guest"),
    ("Given.scale", "house_guest"),
    ("given.got", "house_guest"),
    ("given.kept", "house_guest"),
    ("given.other", "house_guest"),
    ("Given.other", "house_guest"),
    ("returned", "house_guest"),
    ("fetched", "house_guest"),
    ("answered.got", "house_guest"),
    ("answered.anything", "house_guest"),
    ("Made", "house_guest"),
    ("Begun", "house_guest"),
    ("another", "house_guest"),
    ("endless", "wrapped too deeply"),
    # what begins with two underscores
    ("relu.__globals__.clear", "__globals__"),
    ("relu.__call__", "__call__"),
    ("relu.__code__.replace", "__code__"),
    ("jitted.__wrapped__", "__wrapped__"),
    ("linear.forward.__func__", "__func__"),
    ("linear.forward.__self__.forward", "__self__"),
    ("linear.__class__", "__class__"),
    ("linear.__init_subclass__", "__init_subclass__"),
    ("linear.__reduce__", "__reduce__"),
    ("Linear.__subclasses__", "__subclasses__"),
    ("Linear.__dict__.get", "__dict__"),
    ("derived.__matmul__", "__matmul__"),
    ("wrong.__traceback__", "__traceback__"),
    ("__spec__.loader.get_data", "__spec__"),
    ("__loader__.get_data", "__loader__"),
    ("__builtins__", "__builtins__"),
    ("__dict__.clear", "__dict__"),
    ("__getattr__", "__getattr__"),
    # that lie, or tell nothing
    ("unsaid", "does not name"),
    ("modular", "house_guest"),
    ("looped", "wrapped too deeply"),
    ("lying", "does not name"),
]


@pytest.mark.parametrize(("target", "owner"), TARGETS)
def test_no_target_is_of_another_module(tracer: Tracer, target: str, owner: str) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, target, "f32[3]")
    assert caught.value.report.kind == "option"
    assert owner in str(caught.value)
    assert LISTED in str(caught.value)
    assert str(caught.value).startswith(repr(target))


# -- what must not be passed on

VALUES = [
    "jnp.load",
    "jnp.save",
    "jnp.fromfile",
    "jnp.from_dlpack",
    "jnp.set_printoptions",
    "load_it",
    "np.load",
    "np.sin",
    "numpy_sin",
    "system",
    "os.system",
    "os",
    "jax",
    "jnp",
    "opener",
    "evaluate",
    "strange",
    "guest",
    "loads",
    "saves",
    "noted",
    "remembered",
    "thieves",
    "Linear.thief",
    "linear.loader",
    "initializer",
    "jax.pure_callback",
    "jax.debug.callback",
    "jax.experimental.io_callback",
    "jax.config",
    "jax.config.update",
    "jax.devices",
    "jax.device_put",
    "jax.jit",
    "jax.profiler.start_trace",
    "jax.distributed.initialize",
    "jax.clear_caches",
    "jax.make_jaxpr",
    "jax.lax.Precision.mro",
    "generator",
    "frame",
    "code",
    "space.load",
    "handlers.clear",
    "__spec__.loader.get_data",
    "__builtins__",
    "relu.__globals__",
    "jnp.tanh.__wrapped__",
    "jax.nn.__loader__.get_data",
    "jax.lax.__builtins__",
    "jax.checkpoint_policies.__class__",
]


@pytest.mark.parametrize("value", VALUES)
def test_no_value_is_of_another_module(tracer: Tracer, value: str) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, "apply", "x=f32[3]", f"fn=[{{a: ({value},)}}]")
    assert caught.value.report.kind == "option"
    assert caught.value.report.option == "static"
    assert "jaxpr_allowed_modules" in str(caught.value), caught.value
    with pytest.raises(RequestError, match="jaxpr_allowed_modules") as caught:
        trace(tracer, "apply", f"x={value}")
    assert caught.value.report.option == "args"
    with pytest.raises(RequestError, match="jaxpr_allowed_modules") as caught:
        trace(tracer, "apply", "x=f32[3]", mesh=value)
    assert caught.value.report.option == "mesh"


def test_what_is_called_for_an_argument_is_a_target(tracer: Tracer) -> None:
    """JAX's pure functions may be passed on, never called by a page."""
    for value in ("nn.initializers.he_normal", "jnp.array", "gelu"):
        with pytest.raises(RequestError, match=r"is a function .*jax.* outside"):
            trace(tracer, "apply", f"x={value}")


@pytest.mark.parametrize(
    "target",
    [
        "house:relu",
        "tests.worker.house_guest:strange",
        "tests.worker.house_guest.strange",
        "tests.worker.house2:f",
        "tests.worker.house.__main__:f",
        "tests.worker.house.__init__:f",
        "tests.worker:house",
        "TESTS.worker.house:relu",
        "tests.worker.\uff48ouse:relu",
        "os:system",
    ],
)
def test_no_other_module_is_imported(tracer: Tracer, target: str) -> None:
    told: list[str] = []
    wanted = Request(target, allowed=ALLOWED)
    with pytest.raises(RequestError, match="jaxpr_allowed_modules"):
        tracer.prepare(wanted, told.append)
    assert told == []


def test_a_text_may_be_of_another_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module is not imported, and lends no names."""
    (tmp_path / "never.py").write_text("raise AssertionError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    tracer = Tracer(DependencyRecorder("/nowhere"), [])
    with pytest.raises(RequestError, match="jaxpr_allowed_modules"):
        trace(tracer, "relu", "f32[3]", around=("never",))
    assert "never" not in sys.modules
    around = (f"{house.__name__}:strange", f"{house.__name__}:guest.inherited")
    wanted = Request(f"{house.__name__}:strange", allowed=ALLOWED, around=around, bare=True)
    with pytest.raises(RequestError, match="house_guest"):
        tracer.prepare(wanted, lambda module: None)
    assert set(tracer.texts[around]) <= {house}


# -- what must go on working

WORKS = [
    ("relu", "f32[3]", "", ""),
    ("relu.leaky", "f32[3]", "", ""),
    ("jitted", "f32[3]", "", ""),
    ("jitted_partial", "f32[3]", "", ""),
    ("half", "f32[3]", "", ""),
    ("batched", "f32[3]", "", ""),
    ("gradient", "f32[]", "", ""),
    ("rematted", "f32[3]", "", ""),
    ("leaf", "f32[3]", "", ""),
    ("vectorized", "f32[3]", "", ""),
    ("wrapped", "f32[3]", "", ""),
    ("program", "", "", ""),
    ("softplus", "f32[3]", "", ""),
    ("clipped", "f32[3]", "", ""),
    ("linear", "f32[3]", "", ""),
    ("linear.forward", "f32[3]", "", ""),
    ("linear.fast", "f32[3]", "", ""),
    ("linear.plain", "f32[3]", "", ""),
    ("linear.made", "f32[3]", "", ""),
    ("linear.doubled", "f32[3]", "", ""),
    ("linear.__call__", "f32[3]", "", ""),
    ("Linear.__call__", "x=f32[3]", "self=linear", ""),
    ("Linear.__matmul__", "x=f32[3]", "self=linear", ""),
    ("Linear.plain", "f32[3]", "", ""),
    ("Linear.made", "f32[3]", "", ""),
    ("derived.own", "f32[3]", "", ""),
    ("twice", "f32[3]", "", ""),
    ("given.twice", "f32[3]", "", ""),
    ("Twice.both", "x=f32[3]", "self=twice", ""),
    ("Twice.run", "x=f32[3]", "self=twice, by=2", ""),
    ("answered.own", "f32[3]", "", ""),
    ("Params", "f32[3], f32[3]", "", ""),
    ("config.act", "f32[3]", "", ""),
    ("config.act.leaky", "f32[3]", "", ""),
    ("space.act", "f32[3]", "", ""),
    *(
        ("apply", "x=f32[3]", f"fn={value}", "")
        for value in (
            "relu",
            "linear",
            "linear.forward",
            "Linear.plain",
            "half",
            "gelu",
            "squashed",
            "jitted",
            "jax.nn.relu",
            "nn.gelu",
            "jnp.tanh",
            "jax.numpy.sin",
            "jax.lax.tanh",
            "jnp.linalg.norm",
            "handlers",
            "optimizer",
            "config",
            "params",
            "wrong",
            "Act.RELU",
            "Act.RELU.value",
            "precision",
            "jax.lax.Precision.HIGHEST",
            "jnp.pi",
            "jnp.inf",
            "sizes",
            "params.w.shape",
            "space.n",
            "Linear.scale",
            "relu.variants",
            "mesh",
            "program",
            "derived.shared",
        )
    ),
    *(
        ("keep", "x=f32[3]", f"what={value}", "")
        for value in (
            "jax.checkpoint_policies.dots_saveable",
            "jax.nn.initializers.he_normal",
            "jnp.ndarray",
            "cached",
            "Linear",
            "Params",
            "np.int32",
            "Made",
            "jax.dtypes.bfloat16",
            "jax.dtypes.float0",
        )
    ),
    ("cast", "x=f32[3]", "dtype=jnp.bfloat16", ""),
    ("cast", "x=f32[3]", "dtype=jax.numpy.int8", ""),
    ("cast", "x=f32[3]", "dtype=np.float16", ""),
    ("dense", "x=f32[2,3], w=params.w", "act=jax.nn.relu", ""),
    ("dense", "x=make_x, w=params.w", "", ""),
    ("apply", "x=config.width", "", ""),
    ("relu", "f32[3]", "", "mesh"),
]


@pytest.mark.parametrize(("target", "args", "static", "mesh"), WORKS)
def test_what_is_of_the_module_works(
    tracer: Tracer, target: str, args: str, static: str, mesh: str
) -> None:
    fenced = trace(tracer, target, args, static, mesh)
    assert fenced["text"].startswith("{ lambda")
    assert fenced["text"] == trace(tracer, target, args, static, mesh, allowed=())["text"]


def test_a_module_that_is_listed_is_allowed(tracer: Tracer) -> None:
    both = (*ALLOWED, "tests.worker.house_guest", "jax")
    for target in ("derived.inherited", "guest_method", "jnp.tanh", "gelu", "jax.nn.relu"):
        assert trace(tracer, target, "f32[3]", allowed=both)["text"]
    with pytest.raises(RequestError, match=r"'numpy'.*outside"):
        trace(tracer, "jnp.save", "f32[3]", allowed=both)


def test_a_listed_module_has_what_is_of_classes_in_c(tracer: Tracer) -> None:
    assert trace(tracer, "jitted", "f32[3]", allowed=(*ALLOWED, "jaxlib"))["text"]
    with pytest.raises(RequestError, match=r"numpy'.*outside"):
        trace(tracer, "loads", "f32[3]", allowed=(*ALLOWED, "jaxlib"))


@pytest.mark.parametrize("target", ["jax.numpy:tanh", "jax.nn.relu", "jax.lax:sin"])
def test_a_listed_module_has_what_it_publishes(tracer: Tracer, target: str) -> None:
    """JAX defines it elsewhere; of a dotted name, no other part need be listed."""
    listed = tuple(re.split(r"[:.](?=\w+$)", target)[:1])
    wanted = Request(target, grammar.arguments("f32[3]"), allowed=listed)
    assert tracer.trace(wanted, tracer.prepare(wanted, lambda module: None)).program
    wanted = Request(f"{listed[0]}.missing", allowed=listed)
    with pytest.raises(RequestError, match="no attribute 'missing'"):
        tracer.prepare(wanted, lambda module: None)
    wanted = Request(listed[0], allowed=listed)  # of ``jax``, which is not listed
    with pytest.raises(RequestError, match="'jax' is outside"):
        tracer.prepare(wanted, lambda module: None)


def test_without_the_setting_all_is_as_before(tracer: Tracer) -> None:
    for target in ("jnp.tanh", "linear.__class__.plain", "jitted.__wrapped__", "half.func"):
        assert trace(tracer, target, "f32[3]", allowed=())["text"]


#: Words in the names of JAX's functions that made somebody look at them, and find them pure.
SUSPICIOUS = re.compile(
    "load|save|file|print|feed|call|debug|prof|dlpack|host|serv|io|send|recv|token|device|py|"
    "buffer|string|iter|open|write|read|exec|eval|import|dump|path|log_|env|thread|process|config"
)
REVIEWED = """
    ConvDimensionNumbers EigImplementation EighImplementation GatherDimensionNumbers Precision
    RaggedDotDimensionNumbers ScatterDimensionNumbers argpartition broadcasted_iota
    conv_dimension_numbers conv_general_permutations copy copy_p copysign create_token
    create_token_p device_put_p dot_product_attention einsum_path frombuffer fromfunction fromiter
    frompyfunc fromstring get_scaled_dot_general_config iota iota_p log_p log_sigmoid log_softmax
    lu_pivots_to_permutation lu_pivots_to_permutation_p optimization_barrier
    optimization_barrier_p partition population_count population_count_p reduce_precision
    reduce_precision_p union1d
""".split()


def test_what_jax_publishes_was_looked_at() -> None:
    """A JAX with a new name of a suspicious kind needs a look, and a word above."""
    modules = (jnp, jnp.fft, jnp.linalg, jax.lax, jax.lax.linalg, jax.nn, jax.nn.initializers)
    names = {
        name
        for module in modules
        for name in dir(module)
        if not name.startswith("_") and id(getattr(module, name)) in published()
    }
    assert len(names) > 700
    assert {name for name in names if SUSPICIOUS.search(name.lower())} <= set(REVIEWED)
    assert names.isdisjoint(
        "load save savez fromfile from_dlpack printoptions set_printoptions get_printoptions"
        " psend precv infeed outfeed".split()
    )
