"""Names of other modules, ``make`` and ``then`` in real builds: both markups, one meaning."""

from __future__ import annotations

from pathlib import Path

from tests.support import Project

FACTORIES = '''
def momentum(rate):
    """Add up.

    .. jaxpr-transform:: momentum
       :name: documented
       :make: 0.5
       :then: update
       :args: f32[3], far.away:TRACE
    """
    return Momentum(lambda grads, trace: grads + rate * trace)


class Momentum:
    def __init__(self, update):
        self.update = update

    def init(self, grads):
        return grads * 0


def apply(x, act, by):
    return act(x) * by
'''
PAGE = """
# P

```{jaxpr-code}
def own(n):
    return lambda x: x * n

WEIGHT = 3.0
```

```{jaxpr-transform} factories:momentum
:name: stepped
:make: rate=0.5
:then: update
:args: grads=f32[3], trace=init(f32[3])
:transforms: grad
```

```{jaxpr-transform} own
:name: paged
:make: WEIGHT
:args: x=far.away:TRACE
```

```{jaxpr-transform} factories:apply
:name: applied
:args: x=f32[3]
:static: act=jax.nn.relu, by=far.away:BY
```

{jaxpr:claim}`It adds <len(stepped[add]) == 1>`.
"""
RST = """
:orphan:

P
=

.. jaxpr-code::

   def own(n):
       return lambda x: x * n

   WEIGHT = 3.0

.. jaxpr-transform:: factories:momentum
   :name: stepped_rst
   :make: rate=0.5
   :then: update
   :args: grads=f32[3], trace=init(f32[3])
   :transforms: grad

.. jaxpr-transform:: own
   :name: paged_rst
   :make: WEIGHT
   :args: x=far.away:TRACE

.. jaxpr-transform:: factories:apply
   :name: applied_rst
   :args: x=f32[3]
   :static: act=jax.nn.relu, by=far.away:BY

.. autofunction:: factories.momentum
"""
AWAY = """
import jax

TRACE = jax.ShapeDtypeStruct((3,), "float32")
BY = {by}
"""
NAMES = ("stepped", "stepped.grad", "paged", "applied")


def test_both_markups_name_and_make_alike(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "src/factories.py": FACTORIES,
            "src/far/__init__.py": "",
            "src/far/away.py": AWAY.format(by=2.0),
            "docs/index.md": PAGE,
            "docs/other.rst": RST,
        },
        'extensions.append("sphinx.ext.autodoc")\n',
    )
    built = project.build("html", "-W", "-n")
    assert (built.code, built.stderr) == (0, "")
    page, other = built.texts("index"), built.texts("other")
    for name in NAMES:
        first, dot, label = name.partition(".")
        assert page[f"jaxpr-{name}"] == other[f"jaxpr-{first}_rst{dot}{label}"]
    assert "mul 0.5" in other["jaxpr-documented"]
    assert "mul a 3.0" in page["jaxpr-paged"] and "2.0" in page["jaxpr-applied"]
    calls = [call.get_text() for call in built.page("index").select(".jaxpr-call")]
    assert "momentum(rate=0.5).update" in calls and "own(WEIGHT)" in calls
    assert "lambda x: apply(x, jax.nn.relu, far.away.BY)" in calls

    assert project.build("html", "-W", "-n").traced == 0
    project.write("src/far/away.py", AWAY.format(by=4.0))
    again = project.build("html", "-W", "-n")
    assert again.code == 0, again.stderr
    assert "4.0" in again.texts("index")["jaxpr-applied"]
    assert again.texts("other")["jaxpr-applied_rst"] == again.texts("index")["jaxpr-applied"]

    locked = project.build("jaxpr-lock")
    assert locked.code == 0, locked.stderr
    (file,) = (project.docs / "_jaxprs").rglob("stepped.json")
    assert '"make": "rate=0.5"' in file.read_text() and '"then": "update"' in file.read_text()
