"""The data that an extension keeps by page, and the pages that Sphinx must write again."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from .. import __version__
from ..tracing.files import Cache

logger = logging.getLogger(__name__)


def data_version_of(*classes: Any) -> int:
    """A number that changes with the fields of the dataclasses, or named tuples, of a domain.

    For ``data_version`` of a :class:`PageDomain`: Sphinx pickles its data, and reads all
    pages again when another release reads other fields.
    """
    lines = [f"{kind.__qualname__} {' '.join(_fields_of(kind))}" for kind in classes]
    return zlib.crc32("\n".join([__version__, *lines]).encode())


def _fields_of(kind: Any) -> Iterable[str]:
    names: tuple[str, ...] | None = getattr(kind, "_fields", None)
    return [field.name for field in fields(kind)] if names is None else names


class PageDigests:
    """Digests of what pages show, kept in ``folder`` for each builder's output.

    The folder belongs to the doctrees: any other may be older or newer than they are.
    ``current`` has what each page shows in this build, as any text.
    """

    def __init__(self, app: Sphinx, folder: Path, current: Mapping[str, str]) -> None:
        self.app = app
        self.current = {page: _short_digest(text) for page, text in current.items()}
        output = _short_digest(f"{app.builder.name}\n{app.outdir}")
        self.cache = Cache(folder)
        self.file = f"pages-{output}.txt"
        self.resolved: set[str] = set()  # pages whose nodes this build has created

    def before(self) -> dict[str, str]:
        """The digests as of the last finished build of this builder."""
        return self.cache.load(self.file, _texts_by_name) or {}

    def outdated(self) -> list[str]:
        """Pages that show something other than when they were last written."""
        # A file that can't be replaced may come from any build.
        before = self.before() if os.access(self.cache.folder, os.W_OK) else {}
        pages = {*self.current, *before} & self.app.env.found_docs
        return sorted(page for page in pages if before.get(page) != self.current.get(page))

    def keep(self) -> None:
        """Keep the digests of a finished build, which may have left pages out."""
        before = self.before()
        after = {
            page: digest
            for page in {*self.current, *before} & self.app.env.found_docs
            if (digest := (self.current if page in self.resolved else before).get(page))
        }
        if after != before and not self.cache.keep(self.file, after):
            with contextlib.suppress(OSError):  # rather all pages again than too few
                (self.cache.folder / self.file).unlink()


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class PageDomain(Domain):
    """A domain that keeps data by page, each kind under a key of ``initial_data``.

    A subclass sets ``name``, ``label``, ``data_version`` and ``initial_data``.  That has a key
    ``seal`` with the value ``""``, and a dict by page for each kind; a value of another type
    belongs to the whole project.  This class clears pages, merges the data of parallel
    readers, detects damaged pickles and has pages written again.  ``connect`` registers the
    domain.  ``app`` is the application that builds: Sphinx 9 deprecates asking an environment
    or a transform for it.
    """

    app: Sphinx
    #: Keys of the whole project whose data has a check of its own.
    sealed_alone: ClassVar[frozenset[str]] = frozenset()
    #: What pages show in the running build, once :meth:`outdated_pages` was called.
    digests: PageDigests | None = None

    @classmethod
    def connect(cls, app: Sphinx) -> None:
        """Register the domain and what maintains its data."""
        app.add_domain(cls)
        app.connect("builder-inited", cls.remember)
        app.connect("env-get-outdated", cls.unseal)
        app.connect("env-updated", cls.seal, priority=900)  # after the last handler that adds data
        app.connect("doctree-resolved", cls.note_resolved)
        app.connect("build-finished", cls.keep_digests)

    @classmethod
    def of(cls, env: BuildEnvironment) -> Self:
        """The domain of an environment; raises what Sphinx does where it isn't registered."""
        return cast(Self, env.get_domain(cls.name))

    def outdated_pages(self, app: Sphinx, texts: Mapping[str, str]) -> list[str]:
        """Pages to write again, as an answer to ``env-updated``.

        ``texts`` has, for each page, any text that represents what it shows beside its own
        source: results, titles of other pages.  A page is outdated if that text has changed
        since it was written.
        """
        self.digests = PageDigests(app, Path(app.doctreedir) / self.name, texts)
        return self.digests.outdated()

    @classmethod
    def note_resolved(cls, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Note that a page will be written; a list of files on the command line omits some."""
        if (digests := cls.of(app.env).digests) is not None:
            digests.resolved.add(docname)

    @classmethod
    def keep_digests(cls, app: Sphinx, exception: Exception | None) -> None:
        """After a build without an exception, keep the digests of its pages."""
        if (digests := cls.of(app.env).digests) is not None and exception is None:
            digests.keep()

    @classmethod
    def seal(cls, app: Sphinx, env: BuildEnvironment) -> None:
        """Before Sphinx pickles the data, keep a digest of it."""
        domain = cls.of(env)
        domain.data["seal"] = domain.digest()

    @classmethod
    def unseal(cls, app: Sphinx, env: BuildEnvironment, *changes: set[str]) -> Iterable[str]:
        """Pages to read again: all of them where the data isn't what was pickled.

        A bit that flips in a pickle may turn a false claim into a true one.
        """
        domain = cls.of(env)
        whole = domain.data.keys() >= cls.initial_data.keys()
        if not env.all_docs or (whole and domain.data["seal"] == domain.digest()):
            return ()
        logger.info("the stored data of %r is damaged: reading all pages again", cls.name)
        domain.reset()
        return sorted(env.found_docs)

    def reset(self) -> None:
        """Forget all pages."""
        self.data.update(copy.deepcopy(self.initial_data))
        self.pages_changed()

    def pages_changed(self) -> None:
        """Drop what was computed from the data of pages, since that has changed."""

    def digest(self) -> str:
        """A digest of the data that is kept for pages."""
        parts = sorted(self.initial_data.keys() - {"seal", *self.sealed_alone})
        text = repr([self.data.get(part) for part in parts])
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    @classmethod
    def remember(cls, app: Sphinx) -> None:
        """Note the application in the domain, once the builder exists."""
        cls.of(app.env).app = app

    def clear_doc(self, docname: str) -> None:
        """Forget a page that is read again or removed."""
        for by_page in self.data.values():
            if isinstance(by_page, dict):
                by_page.pop(docname, None)
        self.pages_changed()

    def merge_domaindata(self, docnames: Set[str], otherdata: dict[str, Any]) -> None:
        """Add the data that another process read."""
        for kind in self.initial_data:
            if not isinstance(otherdata[kind], dict):  # of the whole project
                continue
            for docname in docnames & set(otherdata[kind]):
                self.data[kind][docname] = otherdata[kind][docname]
        self.pages_changed()

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Resolve nothing; Markdown links warn about a domain without this method."""
        return []


class PageTransform(SphinxPostTransform):
    """A post-transform that knows the application through a :class:`PageDomain`.

    A subclass sets ``domain_name``, the name of that domain; ``app`` is the application.
    """

    #: The name of the domain of the transform's extension.
    domain_name: ClassVar[str]

    @cached_property
    def app(self) -> Sphinx:
        """The application that builds."""
        return cast(PageDomain, self.env.get_domain(self.domain_name)).app


def _texts_by_name(data: Any) -> dict[str, str] | None:
    fits = type(data) is dict and all(type(text) is str for text in data.values())
    return data if fits else None
