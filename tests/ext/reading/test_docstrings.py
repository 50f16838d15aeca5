"""Names in docstrings: of the module where the text is, then of the current one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Build, Project

PRIVATE = '''
    import jax.numpy as jnp
    import numpy as np

    SHAPES = np.zeros((2, 3), np.float32)
    ONLY = np.zeros(7, np.float32)


    def _core(x):
        return jnp.sin(x)


    def act(x):
        """An activation.

        .. jaxpr-transform:: act
           :name: act
           :args: SHAPES

        .. jaxpr-transform:: _core
           :name: core
           :args: ONLY

        .. jaxpr-transform:: public_only
           :name: public
           :args: PUBLIC

        .. jaxpr-transform:: jax.numpy:cos
           :name: elsewhere
           :args: SHAPES
        """
        return _core(x) * 2


    class Block:
        """A block.

        .. jaxpr-transform:: .__call__
           :name: called
           :args: x=SHAPES
           :static: self=BLOCK
        """

        def __call__(self, x):
            """Call it.

            .. jaxpr-transform:: .helper
               :name: helped
               :args: x=ONLY
               :static: self=BLOCK
            """
            return jnp.tanh(x)

        def helper(self, x):
            return jnp.exp(x)


    BLOCK = Block()


    def moved(x):
        """Public by its ``__module__``, as packages like to set it.

        .. jaxpr-transform:: _core
           :name: moved
           :args: ONLY
        """
        return x


    moved.__module__ = "lib"
'''
PUBLIC = '''
    """The package.

    .. jaxpr-transform:: public_only
       :name: package
       :args: PUBLIC
    """

    import numpy as np

    from lib._src.nn import Block, act, moved

    SHAPES = np.zeros(99, np.float32)
    PUBLIC = np.zeros(5, np.float32)


    def public_only(x):
        return -x
'''
WRONG = """
    from wrong._src import act, Block
"""
WRONG_PRIVATE = '''
    import jax.numpy as jnp

    SHAPE = jnp.zeros(2)

    def _core(x):
        return x

    def act(x):
        """Wrong.

        .. jaxpr-transform:: _cor
           :args: SHAPE

        .. jaxpr-transform:: _core
           :args: SHAPES
        """
        return x

    class Block:
        """Wrong.

        .. jaxpr-transform:: Block.__call__
           :args: SHAPE, SHAPE
        """

        def __call__(self, x):
            return x
'''
CONF = """
extensions += ["sphinx.ext.autodoc", "sphinx.ext.autosummary"]
autodoc_member_order = "bysource"
suppress_warnings = ["toc.not_included"]
"""
FILES = {
    "docs/index.rst": """
        One
        ===

        .. autofunction:: lib.act

        .. autofunction:: lib.moved

        .. autoclass:: lib.Block
           :special-members: __call__
        """,
    "docs/again.rst": """
        Where it is defined
        ===================

        .. automodule:: lib._src.nn
           :members:
           :special-members: __call__
        """,
    "docs/module.rst": """
        The package
        ===========

        .. automodule:: lib
           :members: act
           :imported-members:
           :no-index:
        """,
    "docs/summary.rst": """
        Summary
        =======

        .. currentmodule:: lib

        .. autosummary::
           :toctree: made

           act
           Block
        """,
    # As AutoAPI and others write it: the signatures, and the text below them.
    "docs/written.rst": """
        Written
        =======

        .. py:module:: lib
           :no-index:

        .. py:function:: act(x)
           :no-index:

           .. jaxpr-transform:: act
              :name: written_act
              :args: SHAPES

           .. jaxpr-transform:: _core
              :name: written_core
              :args: ONLY

        .. py:class:: Block
           :no-index:

           .. py:method:: __call__(x)
              :no-index:

              .. jaxpr-transform:: .helper
                 :name: written_helper
                 :args: x=SHAPES
                 :static: self=BLOCK
        """,
    "docs/whole.rst": """
        Whole names
        ===========

        .. py:function:: lib.act(x)
           :no-index:

           .. jaxpr-transform:: _core
              :name: whole_core
              :args: ONLY

        .. py:method:: lib.Block.__call__(x)
           :no-index:

           .. jaxpr-transform:: _core
              :name: whole_method
              :args: ONLY
        """,
    "docs/myst.md": """
        # MyST

        ```{py:module} lib
        :no-index:
        ```

        ::::{py:function} act(x)
        :no-index:

        :::{jaxpr-transform} _core
        :name: myst_core
        :args: ONLY
        :::
        ::::
        """,
    "docs/wrong.rst": """
        Wrong
        =====

        .. autofunction:: wrong.act

        .. autoclass:: wrong.Block
        """,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    conf = CONF + 'myst_enable_extensions = ["colon_fence"]\n'
    project = Project(tmp_path_factory.mktemp("lib"), FILES, conf)
    project.write("src/lib/__init__.py", PUBLIC)
    project.write("src/lib/_src/__init__.py", "")
    project.write("src/lib/_src/nn.py", PRIVATE)
    project.write("src/wrong/__init__.py", WRONG)
    project.write("src/wrong/_src.py", WRONG_PRIVATE)
    return project.build()


def test_names_are_of_the_module_of_the_text(built: Build) -> None:
    here = built.texts("index")
    assert "b:f32[2,3] = sin a" in here["jaxpr-act"]
    assert "b:f32[7] = sin a" in here["jaxpr-core"]
    assert "b:f32[2,3] = cos a" in here["jaxpr-elsewhere"]
    assert "b:f32[2,3] = tanh a" in here["jaxpr-called"]
    assert "b:f32[7] = exp a" in here["jaxpr-helped"]
    assert "b:f32[7] = sin a" in here["jaxpr-moved"]


def test_then_of_the_current_module(built: Build) -> None:
    assert "b:f32[5] = neg a" in built.texts("index")["jaxpr-public"]
    assert "b:f32[5] = neg a" in built.texts("module")["jaxpr-package"]
    # Shown where it is defined, the docstring has one module alone.
    assert not built.texts("again")["jaxpr-public"]


def test_one_docstring_in_all_its_modules_is_no_clash(built: Build) -> None:
    for page in ("again", "module", "made/lib.act"):
        for name in ("jaxpr-act", "jaxpr-core"):
            assert built.texts(page)[name] == built.texts("index")[name]
    assert built.texts("made/lib.Block")["jaxpr-called"] == built.texts("index")["jaxpr-called"]
    assert "is also used at" not in built.stderr


def test_texts_below_signatures(built: Build) -> None:
    written = built.texts("written")
    assert "b:f32[2,3] = sin a" in written["jaxpr-written_act"]
    assert "b:f32[7] = sin a" in written["jaxpr-written_core"]
    assert "b:f32[2,3] = exp a" in written["jaxpr-written_helper"]
    for name in ("jaxpr-whole_core", "jaxpr-whole_method"):
        assert "b:f32[7] = sin a" in built.texts("whole")[name]
    assert "b:f32[7] = sin a" in built.texts("myst")["jaxpr-myst_core"]


def test_what_is_nowhere_names_both_modules(built: Build) -> None:
    def told(part: str) -> str:
        [line] = [line for line in built.warnings if part in line]
        return line

    line = told("'_cor'")
    assert "docstring of wrong._src.act:3: WARNING" in line
    assert "module 'wrong._src' has no attribute '_cor', nor has module 'wrong'" in line
    assert "did you mean '_core'?" in line
    assert "did you mean 'SHAPE'?" in told("has no attribute 'SHAPES'")
    line = told("no module 'Block'")
    assert "in a docstring, write 'wrong._src:Block.__call__', or '.__call__'" in line
    # That of the docstring which has one module alone where it is defined.
    others = [line for line in built.warnings if "docstring of wrong" not in line]
    [line] = [line for line in others if "duplicate object" not in line]
    assert "module 'lib._src.nn' has no attribute 'public_only'" in line


@pytest.mark.once
def test_a_change_of_the_text_s_module_traces_again(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.rst": FILES["docs/written.rst"]})
    project.write("src/lib/__init__.py", PUBLIC)
    project.write("src/lib/_src/__init__.py", "")
    path = project.write("src/lib/_src/nn.py", PRIVATE)
    assert project.build().traced
    assert not project.build().traced
    path.write_text(path.read_text().replace("zeros(7", "zeros(8"))
    assert "b:f32[8] = sin a" in project.build().texts("index")["jaxpr-written_core"]
