"""Where results are kept, under which keys, and whether those of earlier builds count."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from functools import cached_property
from pathlib import Path

from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.util import logging

from ...program.text import on_one_line
from ...tracing import folders
from ...tracing.files import Cache
from ...tracing.fingerprint import Installed, environment_facts
from ...tracing.masking import PathMasker
from ...tracing.needs import Present
from ...tracing.request import Request
from ...tracing.store import Store
from .. import config as settings

logger = logging.getLogger(__name__)


class Storage:
    """The store of one build, with what enters its keys."""

    def __init__(self, app: Sphinx, paths: PathMasker) -> None:
        self.app = app
        self.paths = paths
        self.confdir = Path(app.confdir)
        self._environments: dict[bool, tuple[str, dict[str, str]]] = {}
        self._opened: Store | None = None
        folder = settings.cache_folder(app.config, self.confdir, Path(app.doctreedir))
        #: The folder of results.
        self.cache = Cache(folder, self._not_kept)

    def _not_kept(self, reason: str) -> None:
        folder = self.paths.stored(str(self.cache.folder))
        self._warn(
            "jaxpr_cache_dir",
            f"results can't be kept in {folder!r}: {reason}; this build shows every program, but"
            " the next one traces again what this one traced",
        )

    def log(self, text: str) -> str:
        """Keep a traceback; its file as messages name it, ``""`` where it can't be kept."""
        name = f"tracebacks/{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}.log"
        file = self.cache.folder / name
        if not self.cache.write(name, text):
            return ""
        with contextlib.suppress(OSError):  # it is in use, however old its text is
            if file.stat().st_mtime < time.time() - 24 * 3600:
                os.utime(file)
        return self.paths.stored(str(file))

    @property
    def store(self) -> Store:
        """The results of this project, opened when first asked for."""
        if self._opened is None:
            setup = settings.setup_of(self.app.config, self.confdir, False)
            installed = Installed(setup.python, setup.environment, self.cache, self.paths)
            outputs = (str(self.app.outdir), str(self.app.doctreedir), str(self.cache.folder))
            present = Present(self.paths, installed, self._depends(outputs), outputs)
            self._opened = Store(self.cache, present)
        return self._opened

    def flush(self) -> None:
        """Write what changed, and say what was damaged."""
        if self._opened is not None:
            self._opened.flush()
            if self._opened.damaged:
                logger.info("%s", _damaged(self._opened.damaged))

    def _depends(self, outputs: tuple[str, ...]) -> dict[str, str]:
        """The files of ``jaxpr_depends``, as digests."""
        patterns = settings.value(self.app.config, "jaxpr_depends")
        found, empty = folders.digests(patterns, str(self.confdir), outputs)
        for pattern in empty:
            self._warn("jaxpr_depends", f"no file matches {pattern!r}")
        return found

    def _warn(self, option: str, message: str) -> None:
        place = settings.place_of(option, self.confdir)
        text = on_one_line(f"{option}: {message}")
        logger.warning("%s", text, location=place, type="jaxpr", subtype="option")

    def key(self, request: Request, request_digest: str) -> str:
        """What the result of a request is stored under."""
        text = request_digest + self._environment(request.x64)[0]
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def made(self, x64: bool) -> dict[str, str]:
        """What enters the keys beside the requests, in parts to speak of."""
        return self._environment(x64)[1]

    def _environment(self, x64: bool) -> tuple[str, dict[str, str]]:
        if x64 not in self._environments:
            setup = settings.setup_of(self.app.config, self.confdir, x64)
            facts = environment_facts(self.store.installed, dict(setup.settings), setup.environment)
            self._environments[x64] = facts.digest, facts.by_name()
        return self._environments[x64]

    @cached_property
    def anew(self) -> bool:
        """Whether results of earlier builds don't count in this one.

        ``-E`` tells Sphinx to forget what lies with the doctrees, and so the store that is
        there; one that is kept elsewhere is kept on purpose.
        """
        if settings.value(self.app.config, "jaxpr_fresh"):
            return True
        elsewhere = bool(settings.value(self.app.config, "jaxpr_cache_dir"))
        # Without this file the build is the first, or the one before was cut short.
        pickled = Path(self.app.doctreedir) / ENV_PICKLE_FILENAME
        return bool(self.app.fresh_env_used) and not elsewhere and pickled.exists()

    def why(self, key: str, request: Request) -> str:
        """Why a program is traced."""
        return self.store.why(key, request.digest, self.made(request.x64))


def _damaged(count: int) -> str:
    were = "jaxpr was" if count == 1 else "jaxprs were"
    return f"{count} stored {were} damaged; what a page still needs is traced again"
