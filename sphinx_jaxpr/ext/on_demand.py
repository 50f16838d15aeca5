"""What Sphinx knows of the extension from the beginning: classes that load the real ones.

Sphinx has to have every directive, role, builder and transform before it knows whether the build
needs it, and a build without changes needs none.  Each class here has the attributes that Sphinx
and the parsers read from a class; creating an instance imports the real class, and creates an
instance of that.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from docutils import nodes
from docutils.parsers.rst import Directive
from pygments.lexer import Lexer
from sphinx.builders import Builder
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from .reading.parsers import AnyOption


class OnDemand:
    """A class that stands for another one until it is used."""

    @staticmethod
    def real() -> type:
        """Import the class that this one stands for."""
        raise NotImplementedError

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the real class."""
        return cls.real()(*args, **kwargs)


# --- directives and roles


class _DirectiveOnDemand(OnDemand, Directive):
    option_spec: ClassVar[Any] = AnyOption()


class _TransformDirective(_DirectiveOnDemand):
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.transform import JaxprTransform

        return JaxprTransform


class _ShowDirective(_DirectiveOnDemand):
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.show import JaxprShow

        return JaxprShow


class _PastedDirective(_DirectiveOnDemand):
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.pasted import JaxprPasted

        return JaxprPasted


class _GlossaryDirective(_DirectiveOnDemand):
    has_content = False

    @staticmethod
    def real() -> type:
        from .reading.glossary import JaxprGlossary

        return JaxprGlossary


class _ClaimsDirective(_DirectiveOnDemand):
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.claims.directive import JaxprClaims

        return JaxprClaims


class _WhenDirective(_DirectiveOnDemand):
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.when import JaxprWhen

        return JaxprWhen


class _CodeDirective(_DirectiveOnDemand):
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    @staticmethod
    def real() -> type:
        from .reading.code import JaxprCode

        return JaxprCode


DIRECTIVES: Final[dict[str, type[Directive]]] = {
    "jaxpr-transform": _TransformDirective,
    "jaxpr": _PastedDirective,
    "jaxpr-glossary": _GlossaryDirective,
    "jaxpr-claims": _ClaimsDirective,
    "jaxpr-when": _WhenDirective,
    "jaxpr-show": _ShowDirective,
    "jaxpr-code": _CodeDirective,
}


class RoleOnDemand:
    """A role of the domain, as a function that docutils calls."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self, *args: Any, **kwargs: Any
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Run the role with the arguments that a parser gave this one."""
        from .reading.roles import StatementRole

        return StatementRole(self.name)(*args, **kwargs)


ROLES: Final = {name: RoleOnDemand(name) for name in ("ref", "eqn", "prim", "val", "var", "claim")}

# --- builders


class _CheckOnDemand(OnDemand, Builder):
    name = "jaxpr-check"

    @staticmethod
    def real() -> type:
        from .builders.check import CheckBuilder

        return CheckBuilder


class _LockOnDemand(OnDemand, Builder):
    name = "jaxpr-lock"

    @staticmethod
    def real() -> type:
        from .builders.lock import JaxprLock

        return JaxprLock


class _RecordOnDemand(OnDemand, Builder):
    name = "jaxpr-record"

    @staticmethod
    def real() -> type:
        from .builders.lock import JaxprRecord

        return JaxprRecord


BUILDERS: Final[tuple[type[Builder], ...]] = (_CheckOnDemand, _LockOnDemand, _RecordOnDemand)

# --- what reading a page needs beside these


class NamesTransform(OnDemand, SphinxTransform):
    """Notes what sentences name, before they are translated."""

    default_priority = 15

    @staticmethod
    def real() -> type:
        """Import the transform."""
        from .reading.claims.names import KeepNames

        return KeepNames


# --- what writing a page needs


class _BlocksTransform(OnDemand, SphinxPostTransform):
    default_priority = 5

    @staticmethod
    def real() -> type:
        from .showing.post_transforms import ShowBlocks

        return ShowBlocks


class _GlossariesTransform(OnDemand, SphinxPostTransform):
    default_priority = 6

    @staticmethod
    def real() -> type:
        from .showing.primitives import ShowGlossaries

        return ShowGlossaries


class _StatementsTransform(OnDemand, SphinxPostTransform):
    default_priority = 7  # after the blocks: captions and notes hold roles too

    @staticmethod
    def real() -> type:
        from .showing.post_transforms import ShowStatements

        return ShowStatements


POST_TRANSFORMS: Final[tuple[type[SphinxPostTransform], ...]] = (
    _BlocksTransform,
    _GlossariesTransform,
    _StatementsTransform,
)


class JaxprOnDemand(OnDemand, Lexer):
    """The lexer: its grammar and the parser's take long to compile."""

    name = "jaxpr"
    aliases = ("jaxpr",)
    mimetypes = ("text/x-jaxpr",)

    @staticmethod
    def real() -> type:
        """Import the lexer."""
        from ..lexer import JaxprLexer

        return JaxprLexer
