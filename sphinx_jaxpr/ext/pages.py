"""What two extensions of this package need of pages: to keep it, to write it again, its files."""

from __future__ import annotations

import copy
import hashlib
import zlib
from collections.abc import Iterable, Set
from dataclasses import fields
from typing import Any, ClassVar, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from .. import __version__

logger = logging.getLogger(__name__)


def shape(*classes: Any) -> int:
    """A number that changes with the fields of the dataclasses that a domain keeps.

    Sphinx pickles them; pages that an earlier release read are read again.
    """
    known = [
        f"{one.__qualname__} {' '.join(field.name for field in fields(one))}" for one in classes
    ]
    return zlib.crc32("\n".join([__version__, *known]).encode())


class PageDomain(Domain):
    """A domain whose data is kept by page, each kind under a key of ``initial_data``.

    Sphinx 9 deprecates to ask an environment or a transform for the application: ``app``
    is the one that began to build, see ``remember``.
    """

    app: Sphinx
    #: What of the data is of the whole project, and shows for itself whether it is whole.
    sealed_alone: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def connect(cls, app: Sphinx) -> None:
        """Register the domain, with what keeps its data whole."""
        app.add_domain(cls)
        app.connect("builder-inited", cls.remember)
        app.connect("env-get-outdated", cls.unseal)
        app.connect("env-updated", cls.seal, priority=900)  # when nothing is added any more

    @classmethod
    def seal(cls, app: Sphinx, env: BuildEnvironment) -> None:
        """Before Sphinx pickles the data: keep a digest of it."""
        domain = cast(PageDomain, env.get_domain(cls.name))
        domain.data["seal"] = domain.digest()

    @classmethod
    def unseal(cls, app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> Iterable[str]:
        """Pages to read again: all of them where the data is not what was pickled.

        A bit that flips in a pickle may make another claim of a false one.
        """
        domain = cast(PageDomain, env.get_domain(cls.name))
        whole = domain.data.keys() >= cls.initial_data.keys()
        if not env.all_docs or (whole and domain.data["seal"] == domain.digest()):
            return ()
        logger.info("what was kept of pages for %r is damaged: all are read again", cls.name)
        domain.data.update(copy.deepcopy(cls.initial_data))
        return sorted(env.found_docs)

    def digest(self) -> str:
        """A digest of what is kept of the pages."""
        parts = sorted(self.initial_data.keys() - {"seal", *self.sealed_alone})
        text = repr([self.data.get(part) for part in parts])
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    @classmethod
    def remember(cls, app: Sphinx) -> None:
        """When the builder is there: note the application in the domain."""
        cast(PageDomain, app.env.get_domain(cls.name)).app = app

    def clear_doc(self, docname: str) -> None:
        """Forget a page that is read again or gone."""
        for kept in self.data.values():
            if isinstance(kept, dict):
                kept.pop(docname, None)

    def merge_domaindata(self, docnames: Set[str], otherdata: dict[str, Any]) -> None:
        """Take over what another process read."""
        for kind in self.initial_data:
            if not isinstance(otherdata[kind], dict):  # of the whole project
                continue
            for docname in docnames & set(otherdata[kind]):
                self.data[kind][docname] = otherdata[kind][docname]

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Nothing: Markdown links ask every domain, and warn of one that has no answer."""
        return []


class PageTransform(SphinxPostTransform):
    """A post-transform that knows the application, by the domain ``of`` its extension."""

    of: ClassVar[str]

    @property
    def app(self) -> Sphinx:
        """The application that builds."""
        return cast(PageDomain, self.env.get_domain(self.of)).app
