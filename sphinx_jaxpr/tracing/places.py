"""Which folders belong to the interpreter, and which to the project."""

from __future__ import annotations

import os
import site
import sysconfig


def _site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    folders.update(os.path.realpath(folder) for folder in list(folders))
    return tuple(sorted(os.path.join(folder, "") for folder in folders))


#: The interpreter's own folders, each with a separator at its end.
SITE_FOLDERS = _site_folders()


def is_project_file(path: str) -> bool:
    """Whether ``path`` lies outside the interpreter's own folders."""
    return bool(path) and not path.startswith(SITE_FOLDERS) and not path.startswith("<")
