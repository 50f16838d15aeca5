"""Where results are kept, under which keys, and whether those of earlier builds count."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.application import ENV_PICKLE_FILENAME
from sphinx.util import logging

from ...program.text import on_one_line
from ...tracing import folders
from ...tracing.files import Cache
from ...tracing.fingerprint import Installed, environment_facts
from ...tracing.masking import PathMasker
from ...tracing.needs import Present
from ...tracing.store import Store
from ..config import ProjectSettings

if TYPE_CHECKING:
    from ...tracing.request import Request

logger = logging.getLogger(__name__)


class Storage:
    """The store of one build, with what enters its keys.

    One that ``is_early`` is opened while pages are read, and leaves warnings to its successor.

    ``outdir`` and ``doctreedir`` are Sphinx's; ``is_fresh`` says that Sphinx reads every
    page, because the environment of an earlier build is missing or must not be used.
    """

    def __init__(
        self,
        settings: ProjectSettings,
        masker: PathMasker,
        outdir: Path,
        doctreedir: Path,
        *,
        is_fresh: bool,
        is_early: bool = False,
    ) -> None:
        self.is_early = is_early
        self.settings = settings
        self.masker = masker
        self.outdir = outdir
        self.doctreedir = doctreedir
        self.is_fresh = is_fresh
        self._environments: dict[bool, tuple[str, dict[str, str]]] = {}
        self._opened: Store | None = None
        self._adopted: Store | None = None
        folder = settings.cache_folder(doctreedir)
        #: The folder of results.
        self.cache = Cache(folder, self._not_kept)

    def _not_kept(self, reason: str) -> None:
        folder = self.masker.stored(str(self.cache.folder))
        self._warn(
            "jaxpr_cache_dir",
            f"cannot store results in {folder!r}: {reason}; this build shows every program, but"
            " the next one will trace again what this one traced",
        )

    def log(self, text: str) -> str:
        """Keep a traceback; its file as messages name it, or ``""`` if it can't be kept."""
        name = f"tracebacks/{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}.log"
        file = self.cache.folder / name
        if not self.cache.write(name, text):
            return ""
        with contextlib.suppress(OSError):  # it is in use, however old it is
            if file.stat().st_mtime < time.time() - 24 * 3600:
                os.utime(file)
        return self.masker.stored(str(file))

    @property
    def store(self) -> Store:
        """The results of this project, opened on first use."""
        if self._opened is None:
            setup = self.settings.worker(x64=False)
            installed = Installed(setup.python, setup.environment, self.cache, self.masker)
            outputs = (str(self.outdir), str(self.doctreedir), str(self.cache.folder))
            present = Present(self.masker, installed, self._depends(outputs), outputs)
            if self._adopted is not None:
                self._adopted.judge_by(present)
            self._opened = self._adopted or Store(self.cache, present)
        return self._opened

    def adopt(self, early: Storage) -> None:
        """Take over a store that was opened while pages were read.

        What it looked up since may have changed, so this storage looks again.
        """
        self._adopted, self.cache = early._opened, early.cache

    def flush(self) -> None:
        """Write the changes, and report what was damaged."""
        if self._opened is not None:
            self._opened.flush()
            if self._opened.damaged:
                logger.info("%s", _damaged(self._opened.damaged))

    def _depends(self, outputs: tuple[str, ...]) -> dict[str, str]:
        """The files of ``jaxpr_depends``, as digests."""
        confdir = str(self.settings.confdir)
        digests, empty = folders.digests(self.settings.depends, confdir, outputs)
        for pattern in () if self.is_early else empty:
            self._warn("jaxpr_depends", f"no file matches {pattern!r}")
        return digests

    def _warn(self, option: str, message: str) -> None:
        location = self.settings.location(option)
        text = on_one_line(f"{option}: {message}")
        logger.warning("%s", text, location=location, type="jaxpr", subtype="option")

    def key(self, request_digest: str, *, x64: bool) -> str:
        """The key under which the result of a request is stored."""
        text = request_digest + self._environment(x64)[0]
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def made(self, x64: bool) -> dict[str, str]:
        """The other parts of the keys beside the requests, by name."""
        return self._environment(x64)[1]

    def _environment(self, x64: bool) -> tuple[str, dict[str, str]]:
        if x64 not in self._environments:
            setup = self.settings.worker(x64)
            facts = environment_facts(self.store.installed, dict(setup.settings), setup.environment)
            self._environments[x64] = facts.digest, facts.by_name()
        return self._environments[x64]

    @cached_property
    def starts_over(self) -> bool:
        """Whether results of earlier builds don't count in this one.

        ``-E`` tells Sphinx to discard what it keeps with the doctrees, and so the store there;
        a store elsewhere is kept on purpose.
        """
        if self.settings.fresh:
            return True
        elsewhere = self.settings.cache_dir is not None
        # Without this file the build is the first, or the previous one was interrupted.
        pickled = self.doctreedir / ENV_PICKLE_FILENAME
        return self.is_fresh and not elsewhere and pickled.exists()

    def why(self, key: str, request: Request) -> str:
        """Why a program is traced."""
        return self.store.why(key, request.digest, self.made(request.x64))


def _damaged(count: int) -> str:
    were = "jaxpr was" if count == 1 else "jaxprs were"
    return f"{count} stored {were} damaged; what a page still needs is traced again"
