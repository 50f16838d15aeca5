"""Which folders belong to the interpreter, and which to the project."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterable


def _site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    folders.update(os.path.realpath(folder) for folder in list(folders))
    return tuple(sorted(os.path.join(folder, "") for folder in folders))


#: The interpreter's own folders, each with a separator at its end.
SITE_FOLDERS = _site_folders()


#: Folders of a project that lies inside of those, once they are known.
_own: tuple[str, ...] = ()


def has_inside(roots: Iterable[str]) -> None:
    """Tell the import roots: those inside of the interpreter's folders are the project's."""
    global _own
    found = (os.path.join(root, "") for root in roots)
    _own = tuple(one for one in found if one.startswith(SITE_FOLDERS) and one not in SITE_FOLDERS)


def project_in(folder: str) -> str:
    """The project of ``folder``, where that is inside of the interpreter's folders, or ``""``."""
    path = os.path.join(folder, "")
    above = max((one for one in SITE_FOLDERS if path.startswith(one)), key=len, default=path)
    inside = path[len(above) :].partition(os.sep)[0]
    return os.path.join(above, inside, "") if inside else ""


def is_project_file(path: str) -> bool:
    """Whether ``path`` lies outside the interpreter's own folders."""
    if not path or path.startswith("<"):
        return False
    return not path.startswith(SITE_FOLDERS) or path.startswith(_own)
