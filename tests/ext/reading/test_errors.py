"""What a page asks for and can't have: one warning at its line, and a block that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sphinx_jaxpr.ext.reading.source_lines import SourceSpan
from sphinx_jaxpr.ext.reading.transform import FLAGS, JaxprTransform
from tests.ext.cases import GOOD, Case, Page, problems, warned
from tests.support import Project

CODE = """
import jax
import jax.numpy as jnp

CONFIG = {"w": jnp.ones(3), "b": "text"}


def shapes(x, w):
    y = x * 2
    return y @ w


def choose(x):
    if x > 0:
        return x
    return -x


def helper(x):
    return jnp.dot(x, jnp.ones((7,)))


def outer(x):
    return helper(x)


def looped(xs):
    def body(carry, x):
        return carry if bool(carry) else x, None
    return jax.lax.scan(body, 0.0, xs)[0]


def tree(p):
    return p["w"] * 2


def by_name(x, *, mode="a"):
    return x


def second(x, y=0):
    return x + y


def with_parameters(n):
    return n


def rename(fn, args, *, size=1):
    return fn, args


value = 3


power = jax.jit(lambda x, n: x**n, static_argnames="n")


def nothing(x):
    pass


def factory(n, scale=2):
    if n < 0:
        raise ValueError("n is negative")
    return lambda x: x * n, lambda x: x + n
"""

#: What is wrong with the text of a page.
TEXT = [
    Case("no_colon", "layers", GOOD, "option",
         ("'layers' does not name a function", "package.module:")),
    Case("no_python", "layers:dense()", GOOD, "option",
         ("'layers:dense()' does not name a function",)),
    Case("unknown", "layers:dense", {"argss": "x=f32[4]"}, "option",
         ("unknown option 'argss', did you mean 'args'?", "transforms"), at="argss",
         page=("no spec for 'x', 'w', 'b'",)),
    Case("flag", "layers:dense", {**GOOD, "jit": "yes"}, "option",
         ("option 'jit' is a flag, without a value", "'yes'"), at="jit", shown=True),
    Case("dtype_", "layers:dense", {"args": "x=float32[4]"}, "option",
         ("unknown dtype 'float32', did you mean 'f32'?", "'float32[4]'"), at="args"),
    Case("dims", "layers:dense", {"args": "x=f32[n]"}, "option",
         ("a dimension of f32[...] is a number",), at="args"),
    Case("no_close", "layers:dense", {"args": "x=f32[4"}, "option",
         ("expected ',' or ']', found the end",), at="args"),
    Case("string", "layers:dense", {"args": 'x="text"'}, "option",
         ("they belong in static",), at="args"),
    Case("call", "layers:dense", {"args": "x=make(3), w=f32[4], b=f32[4]"}, "option",
         ("args: x: module 'layers' has no attribute 'make'",), at="args"),
    Case("named_tuple", "layers:dense", {"args": "x=Model(w=f32[2,3], b=f32[3)"}, "option",
         ("expected ',' or ']', found ')'",), at="args"),
    Case("curly", "layers:dense", {"args": "{{ shapes }}"}, "option",
         ("args: substitutions such as {{ shapes }} are not replaced in options",), at="args"),
    Case("curly_in", "layers:dense", {**GOOD, "static": "n={{ n }}"}, "option",
         ("static: substitutions such as {{ n }} are not replaced",), at="static"),
    Case("meshed", "layers:dense", {**GOOD, "mesh": "8"}, "option",
         ("mesh: expected axes with sizes, as in {data: 8}",), at="mesh"),
    Case("mesh_type", "layers:dense", {**GOOD, "mesh": '{a: 8}, axis_types="Explict"'}, "option",
         ("unknown axis type 'Explict', did you mean 'Explicit'?",), at="mesh"),
    Case("digits", "layers:dense", {"args": f"x={'9' * 5000}"}, "option",
         (f"args: '{'9' * 25}...{'9' * 12}' has too many digits",), at="args"),
    Case("bits", "layers:dense", {"args": f"x={'9' * 30}"}, "option",
         ("an integer of more than 64 bits has no JAX type",), at="args"),
    Case("twice", "layers:dense", {"args": "x=f32[4], x=f32[4]"}, "option",
         ("argument 'x' is given twice",), at="args"),
    Case("order", "layers:dense", {"args": "b=f32[4], f32[4]"}, "option",
         ("it may be for 'x' or 'w' of dense(x, w, b)", "name it, as in x=f32[4]"), at="args"),
    Case("code", "layers:dense", {"args": "x=__import__('os').getcwd()"}, "option",
         ("expected ',' before '.getcwd()'",), at="args"),
    Case("static_spec", "layers:dense", {**GOOD, "static": "n=f32[4]"}, "option",
         ("specs belong in args",), at="static"),
    Case("static_bare", "layers:dense", {**GOOD, "static": "n"}, "option",
         ("expected name=value or position=value",), at="static"),
    Case("transform", "layers:dense", {**GOOD, "transforms": "gradd"}, "option",
         ("unknown transform 'gradd', did you mean 'grad'?", "vmap"), at="transforms", shown=True),
    Case("option_of", "layers:dense", {**GOOD, "transforms": "vmap(axis=8)"}, "option",
         ("unknown option 'axis' of 'vmap', did you mean 'axis_size'?", "in_axes"),
         at="transforms", shown=True),
    Case("called", "bugs:factory(3).one", GOOD, "option",
         ("'bugs:factory(3).one' does not name a function: a target is not called; write"
          " bugs:factory with :make: 3 and :then: one",)),
    Case("then_alone", "layers:dense", {**GOOD, "then": "update"}, "option",
         ("then: 'update' is a part of what make returns, but there is no make",), at="then"),
    Case("make_spec", "bugs:factory", {"make": "n=f32[3]"}, "option",
         ("make: 'n' is a spec, f32[3]: specs belong in args",), at="make"),
    Case("then_call", "bugs:factory", {"make": "3", "then": "f(x)"}, "option",
         ("then: expected an attribute, as in update, or a position",), at="then"),
    Case("positional", "layers:dense", {**GOOD, "transforms": "vmap(8)"}, "option",
         ("an option of 'vmap' is written option=value",), at="transforms", shown=True),
    Case("raises_what", "layers:dense", {**GOOD, "raises": "?"}, "option",
         ("raises: expected an exception type",), at="raises", shown=True),
    Case("timeout_what", "layers:dense", {**GOOD, "timeout": "soon"}, "option",
         ("timeout: expected a number of seconds, found 'soon'",), at="timeout", shown=True),
    Case("open_what", "layers:dense", {**GOOD, "open": "gard", "transforms": "jvp as grad"},
         "option", ("open: 'gard' is not a label here, did you mean 'grad'?",), at="open",
         shown=True),
    Case("base_what", "layers:dense", {**GOOD, "base": "hidden"}, "option",
         ("base: 'hidden' is not one of show, hide",), at="base", shown=True),
    Case("laid_out", "layers:dense", {**GOOD, "layout": "beside"}, "option",
         ("layout: 'beside' is not one of stack, compare",), at="layout", shown=True),
    Case("elided", "layers:dense", {**GOOD, "elide": "params, cast"}, "option",
         ("elide: unknown word 'cast', did you mean 'casts'?",), at="elide", shown=True),
    Case("elided_path", "layers:dense", {**GOOD, "elide": "[tan]"}, "path",
         ("elide: at '[tan]': `elided_path` has no equation `tan`; nearest: tanh",), at="elide",
         shown=True),
    Case("wide", "layers:dense", {"args": "x=f64[4,4], w=f32[4,4], b=f32[4]"}, "option",
         ("f64 is traced as f32 without the flag x64", ":x64:"), at="args", shown=True),
]  # fmt: skip

#: In MyST a pipe begins a block of YAML.
PIPED = Case("piped", "layers:dense", {"args": "|shapes|"}, "option",
             ("args: substitutions such as |shapes| are not replaced",), at="args")  # fmt: skip

#: What only the worker can know.
TRACED = [
    Case("module", "layer:dense", GOOD, "trace",
         ("no module 'layer', did you mean 'layers'?", "searched", "../src")),
    Case("submodule", "layers.inner:dense", GOOD, "trace", ("no module 'layers.inner'",)),
    Case("no_mesh", "layers:dense", {"args": "x=f32[4@a,4], w=f32[4,4], b=f32[4]"}, "option",
         ("x: f32[4@a,4] is split over a mesh, but there is none", "mesh: {a: 2}"), at="args"),
    Case("no_such_mesh", "layers:dense", {**GOOD, "mesh": "MESH"}, "option",
         ("mesh: MESH: module 'layers' has no attribute 'MESH'",), at="mesh"),
    Case("static_in_args", "bugs:power", {"args": "x=f32[4], n=3"}, "trace",
         ("Non-hashable static arguments", "hint: args are traced", "in static: n=3")),
    Case("grad_of_nothing", "bugs:nothing", {"args": "f32[3]", "transforms": "grad"}, "option",
         ("the function returns nothing that can be differentiated",), at="transforms",
         shown=True),
    Case("dotted", "layers.dens", GOOD, "trace",
         ("module 'layers' has no attribute 'dens', did you mean 'dense'?",)),
    Case("attribute", "layers:dens", GOOD, "trace",
         ("module 'layers' has no attribute 'dens', did you mean 'dense'?", "searched", "../src")),
    Case("inner", "bugs:shapes.inner", GOOD, "trace", ("'bugs:shapes' has no attribute 'inner'",)),
    Case("no_callable", "bugs:value", {}, "trace", ("'bugs:value' is of type int", "a jaxpr")),
    Case("missing", "layers:dense", {"args": "x=f32[4,4]"}, "option",
         ("no spec for 'w', 'b' of dense(x, w, b)", "w=f32[8]"), at="args"),
    Case("no_args", "layers:dense", {}, "option", ("no spec for 'x', 'w', 'b'",)),
    Case("too_many", "layers:dense", {"args": "f32[4], f32[4], f32[4], f32[4]"}, "option",
         ("args has 4 specs, but dense(x, w, b) takes 3",), at="args"),
    Case("no_parameter", "layers:dense", {"args": "x=f32[4], ww=f32[4]"}, "option",
         ("args names 'ww', which is not a parameter of dense(x, w, b), did you mean 'w'?",),
         at="args"),
    Case("static_name", "bugs:by_name", {"args": "x=f32[4]", "static": "moed='b'"}, "option",
         ("static names 'moed', which is not a parameter of by_name(x, *, mode='a')",
          "did you mean 'mode'?"), at="static"),
    Case("static_place", "bugs:second", {"args": "x=f32[4]", "static": "2=1"}, "option",
         ("static position 2: second(x, y=0) takes 2 positional arguments",), at="static"),
    Case("static_value", "bugs:second", {"args": "x=f32[4]", "static": "y=jax.no"}, "option",
         ("static: y: 'jax' has no attribute 'no'",), at="static"),
    Case("static_call", "bugs:second", {"args": "x=f32[4]", "static": "y=jax.random.key()"},
         "trace", ("TypeError", "hint: jax.random.key() raised it, for y in static"), at="static"),
    Case("other_module", "bugs:second", {"args": "x=bug:value"}, "option",
         ("args: no module 'bug', did you mean 'bugs'?", "searched", "../src"), at="args"),
    Case("other_name", "layers:dense", {"args": "x=bugs:valu, w=f32[4], b=f32[4]"}, "option",
         ("args: x: module 'bugs' has no attribute 'valu', did you mean 'value'?",), at="args"),
    Case("other_dotted", "layers:dense", {"args": "x=bugs.value, w=f32[4], b=f32[4]"}, "option",
         ("module 'layers' has no attribute 'bugs'; for a name of a module, write bugs:value",),
         at="args"),
    Case("factory_part", "bugs:factory.one", {}, "trace",
         ("'bugs:factory' has no attribute 'one'; it is a function: for 'one' of what it returns,"
          " write the target bugs:factory, make: n=... and then: one",)),
    Case("factory_traced", "bugs:factory", {"static": "n=3"}, "trace",
         ("function <lambda> traced for jit returned a value of type <class 'function'>",
          "hint: it returns functions; to trace one, write make: n=3 and then: 0 or 1")),
    Case("make_what", "bugs:factory", {"make": "3, 4, 5"}, "option",
         ("make: too many positional arguments; factory takes n, scale=2",), at="make"),
    Case("make_raises", "bugs:factory", {"make": "n=-1", "then": "0"}, "trace",
         ("ValueError: n is negative", "bugs.py:64 in factory", "hint: factory(n=-1) raised it"),
         at="make"),
    Case("make_pair", "bugs:factory", {"make": "3", "args": "f32[3]"}, "option",
         ("make: factory(3) is of type tuple, which can't be called; name one of its functions, as"
          " in then: 0 or then: 1",), at="make"),
    Case("then_what", "bugs:factory", {"make": "3", "then": "2", "args": "f32[3]"}, "option",
         ("then: factory(3) is of type tuple, without a position 2",), at="then"),
    Case("argument", "layers:dense", {**GOOD, "transforms": "grad(argnums=v)"}, "option",
         ("argnums names 'v', which is not an argument", "x, w, b"), at="transforms", shown=True),
    Case("policy", "layers:dense", {**GOOD, "transforms": "remat(policy=dots)"}, "option",
         ("policy must be a name of jax.checkpoint_policies", "dots_saveable"),
         at="transforms", shown=True),
    Case("third_option", "layers:dense", {**GOOD, "transforms": "rename(sise=2)"}, "option",
         ("unknown option 'sise' of 'rename', did you mean 'size'?",), at="transforms",
         shown=True),
    Case("tree_name", "bugs:tree", {"args": "p={'w': f32[2], 'b': txt}"}, "option",
         ("args: p['b']: module 'bugs' has no attribute 'txt'",), at="args"),
    Case("tree_leaf", "bugs:tree", {"args": "CONFIG"}, "trace", ("p['b']",)),
    Case("spec_call", "bugs:tree", {"args": "with_parameters"}, "option",
         ("'with_parameters' takes parameters",), at="args"),
    Case("shape_", "bugs:shapes", {"args": "x=f32[8,4], w=f32[8,4]"}, "trace",
         ("TypeError: dot_general requires contracting dimensions", "bugs.py:9 in shapes",
          "return y @ w"), page=("bugs.py, line 9, in shapes", "return y @ w")),
    Case("deeper", "bugs:outer", {"args": "x=f32[4]"}, "trace",
         ("bugs.py:19 in helper: return jnp.dot(x, jnp.ones((7,)))",),
         page=("line 23, in outer return helper(x) bugs.py, line 19, in helper",)),
    Case("boolean", "bugs:choose", {"args": "x=f32[]", "transforms": "grad, remat"}, "trace",
         ("TracerBoolConversionError: Attempted boolean conversion", "argument x",
          "(and so for boolean.grad, boolean.remat)", "bugs.py:13 in choose: if x > 0:"),
         page=("bugs.py, line 13, in choose if x > 0:", "errors.html#jax.errors.Tracer")),
    Case("in_scan", "bugs:looped", {"args": "xs=f32[3]"}, "trace",
         ("TracerBoolConversionError", "bugs.py:28 in body")),
]  # fmt: skip

CONF = """
jaxpr_transforms = {"rename": "bugs:rename"}
"""


@pytest.mark.parametrize("markdown", [True, False], ids=["myst", "rst"])
def test_each_mistake_is_one_warning_at_its_line(tmp_path: Path, markdown: bool) -> None:
    cases = [*([] if markdown else [PIPED]), *TEXT, *TRACED]
    page = Page.of(cases, markdown)
    name = f"docs/index.{page.suffix}"
    other = "# Other\n\n```{jaxpr-transform} layers:dense\n:args: f32[4,4], f32[4,4], f32[4]\n```\n"
    project = Project(tmp_path, {"src/bugs.py": CODE, name: page.text}, CONF)
    project.write("docs/other.md", "---\norphan: true\n---\n" + other)

    built = project.build("html", "-W", "--keep-going")
    assert built.code == 1, built.stderr
    assert not problems(built, cases, page, "index")
    html = built.page("index")
    link = html.select_one("#jaxpr-boolean a[href]")
    assert link is not None
    assert link["href"].startswith("https://docs.jax.dev/en/latest/")
    assert link["href"].endswith("errors.html#jax.errors.TracerBoolConversionError")
    for figure in html.select(".jaxpr-error"):
        assert "site-packages" not in figure.get_text()
        assert "sphinx_jaxpr" not in figure.get_text()
    assert "tanh" in built.texts("other")["jaxpr-dense"]

    again = project.build("html", "-W", "--keep-going")
    assert again.code == 1
    assert "0 added, 0 changed, 0 removed" in again.stdout
    assert again.traced < len(cases) - len(TEXT) + 5  # what failed, and nothing else
    assert [w.text for w in warned(again)] == [w.text for w in warned(built)]
    assert [w.place for w in warned(again)] == [w.place for w in warned(built)]


def test_flags_with_values_are_found_in_the_order_of_the_options() -> None:
    for flags in (sorted(FLAGS), sorted(FLAGS, reverse=True)):
        directive = JaxprTransform.__new__(JaxprTransform)
        directive.options = dict.fromkeys(flags, "yes")
        directive.span, directive.findings = SourceSpan("index.md", 1, (), True), []
        directive._check_flags(FLAGS)
        assert [finding.message.split("'")[1] for finding in directive.findings] == flags
