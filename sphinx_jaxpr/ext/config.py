"""The one table of configuration: registered, checked and documented from here."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from sphinx.config import Config

from ..program.text import echoed, shorten
from ..tracing import fingerprint
from ..tracing.folders import SITE_FOLDERS, project_in
from ..tracing.request import Setup, is_target, seconds

MODES: Final = ("trace", "locked", "skip")
#: In place of modules that can't be read: one that no name leads into.
NO_MODULE: Final = ("",)
#: Values that no message shows.
_SECRET: Final = frozenset({"jaxpr_env"})
#: Largest number of equations, bytes or megabytes.
MAX_NUMBER: Final = 2**40
#: Longest path, in characters; no system takes a longer one.
MAX_PATH: Final = 4_000

#: Words of what may be folded away.
ELIDED: Final = ("params", "casts", "dead")

#: Fields of a definition in ``jaxpr_glossary``.
_DEFINITION: Final = frozenset({"meaning", "kind", "page", "words", "aliases"})


@dataclass(frozen=True)
class Option:
    """One value of conf.py; ``problem`` says what is wrong with a value, or ``""``.

    A wrong value is replaced by ``instead``, which is the default where it is ``None``:
    what limits which code is run fails closed.
    """

    name: str
    default: Any
    rebuild: Literal["", "env", "html"]
    meaning: str
    problem: Callable[[Any], str]
    instead: Any = None

    @property
    def registered(self) -> Any:
        """The default as Sphinx gets it.

        Of a number or flag it is a function: else Sphinx itself reads what ``-D`` sets, takes
        no ``inf`` or ``2.5``, and ends the build at a flag that is neither ``0`` nor ``1``.
        """
        if isinstance(self.default, int):
            return lambda _config: self.default
        return self.default

    @property
    def fallback(self) -> Any:
        """What a wrong value is replaced by."""
        return self.default if self.instead is None else self.instead

    def wrong(self, value: Any) -> str:
        """What is wrong with a value of any type, whatever its methods do, or ``""``."""
        try:
            return self.problem(value)
        except Exception as error:  # of a method of the value's own class
            return f"can't be read ({type(error).__name__})"


def _is(kinds: type | tuple[type, ...], words: str) -> Callable[[Any], str]:
    def problem(value: Any) -> str:
        wrong = not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)
        return f"must be {words}" if wrong else ""

    return problem


def _choice(*known: str) -> Callable[[Any], str]:
    def problem(value: Any) -> str:
        good = isinstance(value, str) and value in known
        return "" if good else f"must be one of {', '.join(map(repr, known))}"

    return problem


def _elided(value: Any) -> str:
    words = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else [""]
    good = words == ["none"] or all(word in ELIDED for word in words)
    return "" if good else f"must be 'none', or words of {', '.join(ELIDED)} with commas"


def _seconds(value: Any) -> str:
    good = not isinstance(value, str) and seconds(value)
    return "" if good else "must be a positive number of seconds, or float('inf') for no limit"


def _limit(value: Any) -> str:
    """Seconds, or none."""
    return "" if value is None else _seconds(value)


def _natural(value: Any) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER
    return "" if good else "must be a whole number from 0 to 2**40"


def _text_problem(text: str) -> str:
    """What no page, file or process takes of a text, or ``""``."""
    if "\0" in text:
        return "holds the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a character"
    return ""


def _path_problem(path: str) -> str:
    """Why a text is no path of a file or folder, or ``""``."""
    if problem := _text_problem(path):
        return problem
    if len(path) > MAX_PATH:
        return f"has more than {MAX_PATH:,} characters"
    if path.startswith("~"):
        return "begins with '~', which stands for no folder here; use os.path.expanduser"
    return ""


def _of_each(what: str, items: Iterable[str], problem: Callable[[str], str]) -> str:
    for item in items:
        if said := problem(item):
            return f"has the {what} {shorten(item)}, which {said}"
    return ""


def _path(words: str, *, empty: bool) -> Callable[[Any], str]:
    def problem(value: Any) -> str:
        if not isinstance(value, str) or not (empty or value.strip()):
            return f"must be {words}"
        said = _path_problem(value)
        return f"{said} (it must be {words})" if said else ""

    return problem


def _paths(value: Any) -> str:
    return _strings(value) or _of_each("path", value, _path_problem)


def _names(value: Any) -> str:
    return _strings(value) or _of_each("name", value, _text_problem)


def _modules(value: Any) -> str:
    return _strings(value) or _of_each(
        "name", value, lambda name: "" if is_target(name) and ":" not in name else "names no module"
    )


def _strings(value: Any) -> str:
    good = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return "" if good else "must be a list of strings"


def _patterns(value: Any) -> str:
    if problem := _strings(value):
        return problem
    for item in value:
        if not item.strip():
            return f"has {item!r}, which is not a pattern of files"
        if os.path.isabs(item) or item.startswith("~"):
            return f"has {shorten(item)}; patterns must be relative to the folder of conf.py"
    return _of_each("pattern", value, _path_problem)


def _string_map(value: Any) -> str:
    good = isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )
    return "" if good else "must be a dict of strings to strings"


def _environment(value: Any) -> str:
    if problem := _string_map(value):
        return problem
    for name, text in value.items():
        if not name or "=" in name or _text_problem(name):
            return f"has the name {shorten(name)}, which no variable can have"
        if problem := _text_problem(text):  # which may be a secret, and stays unsaid
            return f"has a value of {shorten(name)} that {problem}"
    return ""


def _glossary(value: Any) -> str:
    """Terms are texts; definitions have texts under the names of their fields."""
    if not isinstance(value, dict):
        return "must be a dict"
    for name, found in value.items():
        text = isinstance(found, str) or (not _string_map(found) and "meaning" in found)
        if not isinstance(name, str) or not text:
            return (
                f"must map {echoed(name, 60)} to a term, or to a dict of texts that has 'meaning'"
            )
        extra = set() if isinstance(found, str) else set(found) - _DEFINITION
        if extra:
            listed = ", ".join(map(shorten, sorted(extra)[:5]))
            return f"has a definition of {shorten(name)} with {listed}"
        texts = [name, found] if isinstance(found, str) else [name, *found.values()]
        if said := _of_each("text", texts, _text_problem):
            return said
    return ""


def _transforms(value: Any) -> str:
    if _string_map(value):
        return _string_map(value)
    for name, path in value.items():
        if not (name.isidentifier() and ":" in path and is_target(path)):
            pair = f"{shorten(name)} to {shorten(path)}"
            return f"must map a name to 'module:function', not {pair}"
    return ""


OPTIONS: Final = (
    Option(
        "jaxpr_open",
        "auto",
        "html",
        "Which blocks start open: `auto` (up to 40 printed lines), `all`, `none` or `base`.",
        _choice("auto", "all", "none", "base"),
    ),
    Option(
        "jaxpr_elide",
        "params",
        "html",
        "What starts folded away in HTML, separated by commas: `params` (lines of parameters with"
        " neutral values, and huge ones), `casts` (equations that only change a dtype), `dead`"
        " (equations without effects that nothing uses); or `none`.",
        _elided,
    ),
    Option(
        "jaxpr_timeout",
        30,
        "",
        "Seconds that one program may take, import of its module included; `float('inf')`: no"
        " limit. Starting JAX has 120 seconds of its own.",
        _seconds,
    ),
    Option(
        "jaxpr_total_timeout",
        None,
        "",
        "Seconds that all tracing of one build may take, the start of its processes included. When"
        " they are over, what is not traced yet fails with one warning of the type"
        " `jaxpr.timeout`; what was traced is shown and stored, and the next build goes on from"
        " there. `None`: no limit.",
        _limit,
    ),
    Option(
        "jaxpr_env",
        {},
        "",
        "Environment variables of the tracing process. Without `JAX_PLATFORMS` here it uses"
        " the CPU alone.",
        _environment,
    ),
    Option(
        "jaxpr_python",
        "",
        "",
        "The interpreter that traces; it needs JAX and the documented package, not Sphinx."
        " A relative path starts at the folder of `conf.py`. Empty: the one that runs Sphinx.",
        _path("the path or the name of an interpreter", empty=True),
    ),
    Option(
        "jaxpr_paths",
        [],
        "",
        "Folders to import from, relative to the folder of `conf.py` (which is one itself).",
        _paths,
    ),
    Option(
        "jaxpr_depends",
        [],
        "",
        "Files that programs depend on in ways that no build can follow, as patterns relative to"
        " the folder of `conf.py`: `data/*.csv`, `../src/**/*.so`, or a folder for all that is"
        " in it. When one of them changes, appears or goes, all programs are traced again.",
        _patterns,
    ),
    Option(
        "jaxpr_memory",
        0,
        "",
        "Megabytes that the tracing process may use; `0`: half of the machine's.",
        _natural,
    ),
    Option(
        "jaxpr_mode",
        "trace",
        "",
        "`trace`; `locked`: all blocks come from the lock, and JAX is not needed; or `skip`:"
        " placeholders without JAX and without warnings. A wrong value counts as `skip`, since"
        " that runs no code.",
        _choice(*MODES),
        "skip",
    ),
    Option(
        "jaxpr_lock_dir",
        "_jaxprs",
        "",
        "Folder of the lock, relative to the folder of `conf.py`.",
        _path("the name of a folder", empty=False),
    ),
    Option(
        "jaxpr_lock_only",
        [],
        "",
        "Names of the blocks that `jaxpr-lock` makes, all others left as they are: of a directive,"
        " or of one block, as in `dense.grad`; where a name holds for its page alone, with the page"
        " before it, as in `guide/intro/dense`. Empty: all but those that are `locked`.",
        _names,
    ),
    Option(
        "jaxpr_cache_dir",
        "",
        "",
        "Folder of the results, relative to the folder of `conf.py`. Empty: `jaxpr` in the"
        " folder of the doctrees.",
        _path("the name of a folder", empty=True),
    ),
    Option(
        "jaxpr_glossary",
        {},
        "html",
        "What primitives link to: the name of a primitive to a term of a glossary in the project,"
        " or to a definition, a dict with `meaning` and, if wanted, `kind`, `page`, `words`.",
        _glossary,
    ),
    Option(
        "jaxpr_transforms",
        {},
        "env",
        "More transforms: name to `module:function`, a function"
        " `(fn, args, **options) -> (fn, args)`.",
        _transforms,
    ),
    Option(
        "jaxpr_allowed_modules",
        [],
        "env",
        "Top-level or dotted modules that a page may name, and that what it has called must be of;"
        " of JAX it may pass on pure functions and dtypes. Empty: all. It limits names and is no"
        " wall; the security page has the rules. With a wrong value none is allowed.",
        _modules,
        NO_MODULE,
    ),
    Option(
        "jaxpr_fresh",
        False,
        "",
        "Trace all blocks again, whatever is stored, in a new process. The builder `jaxpr-check`"
        " does so in the opposite order, and reports where that gives another program than the"
        " stored one.",
        _is(bool, "True or False"),
    ),
    Option(
        "jaxpr_claim_mark",
        False,
        "html",
        "Show readers a small check mark behind every claim that the build has checked (HTML).",
        _is(bool, "True or False"),
    ),
    Option(
        "jaxpr_max_equations",
        2000,
        "html",
        "A program with more equations than this starts closed in HTML, unless its `open` says"
        " otherwise; in LaTeX and Texinfo only that many are shown.",
        _natural,
    ),
    Option(
        "jaxpr_max_constants",
        1_000_000,
        "",
        "Bytes of closed-over arrays that a program may have without a warning.",
        _natural,
    ),
)


def _given(config: Config, option: Option) -> Any:
    """A value as it was set; what ``-D`` sets is text and becomes what is meant."""
    found = getattr(config, option.name)
    if option.name not in config.overrides:
        return found
    if found == [""]:
        return []  # what Sphinx makes of ``-D name=``
    return _meant(option, found) if isinstance(found, str) else found


def _meant(option: Option, found: str) -> Any:
    """What the text of a setting on the command line means."""
    if isinstance(option.default, list):
        return found.split(",") if found else []
    if isinstance(option.default, bool):
        return {"0": False, "1": True}.get(found, found)
    if option.name == "jaxpr_total_timeout" and found in ("", "None"):
        return None
    if isinstance(option.default, int) or option.name == "jaxpr_total_timeout":
        for number in (int, float):
            with contextlib.suppress(ValueError):
                return number(found)
    return found


def problems(config: Config) -> dict[str, str]:
    """What is wrong with the values in conf.py, one line each, by name."""
    found = {}
    for option in OPTIONS:
        value = _given(config, option)
        problem = option.wrong(value)
        if problem:
            shown = "" if option.name in _SECRET else f", not {echoed(value)}"
            used = "no module is allowed" if option.instead is NO_MODULE else ""
            used = used or f"{option.fallback!r} is used"
            found[option.name] = f"{option.name} {problem}{shown}; {used}"
    return found


def settle(config: Config) -> None:
    """Put the fallback in the place of each wrong value: nobody else has to cope with it.

    Sphinx compares, sorts and pickles values, which those of other types may refuse.
    """
    for option in OPTIONS:
        if option.wrong(_given(config, option)):
            setattr(config, option.name, copy.copy(option.fallback))


def place_of(name: str, confdir: Path) -> str:
    """Where conf.py sets a value: file and line, as a warning shows them."""
    file = confdir / "conf.py"
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:  # set on the command line
        return "conf.py:1"
    found = [number for number, line in enumerate(lines, 1) if line.startswith(name)]
    return f"{file}:{found[-1] if found else 1}"


def value(config: Config, name: str) -> Any:
    """A checked value: the default where conf.py's is refused."""
    option = next(option for option in OPTIONS if option.name == name)
    found = _given(config, option)
    return option.fallback if option.wrong(found) else found


def cache_folder(config: Config, confdir: Path, doctreedir: Path) -> Path:
    """Where results are kept."""
    given = value(config, "jaxpr_cache_dir")
    return confdir / given if given else doctreedir / "jaxpr"


def lock_folder(config: Config, confdir: Path) -> Path:
    """Where the lock is."""
    given: str = value(config, "jaxpr_lock_dir")
    return confdir / given


#: Where Python looks for its own library first.
_OWN_ARCHIVE: Final = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"


def roots(config: Config, confdir: Path) -> tuple[str, ...]:
    """Folders to import from: conf.py's, ``jaxpr_paths``, conf.py's edits of ``sys.path``."""
    found = [str(confdir), *(str(confdir / path) for path in value(config, "jaxpr_paths"))]
    own = {os.path.abspath(path) for path in sysconfig.get_paths().values()}
    project = project_in(os.path.abspath(confdir))
    for entry in sys.path:
        if not _is_folder_name(entry):
            continue  # Python skips it as well
        path = os.path.abspath(entry or os.getcwd())
        inside = (path + os.sep).startswith(SITE_FOLDERS) or path in own
        inside = inside and not (project and (path + os.sep).startswith(project))
        inside = inside or os.path.basename(path) == _OWN_ARCHIVE
        if not inside and path != os.path.dirname(sys.executable):
            found.append(path)
    return tuple(dict.fromkeys(os.path.abspath(path) for path in found))


def _is_folder_name(entry: Any) -> bool:
    try:
        return isinstance(entry, str) and b"\0" not in os.fsencode(entry)
    except UnicodeEncodeError:
        return False


def setup_of(config: Config, confdir: Path, x64: bool) -> Setup:
    """The worker that traces with or without 64-bit types."""
    return fingerprint.setup(
        interpreter(config, confdir),
        roots(config, confdir),
        value(config, "jaxpr_env"),
        value(config, "jaxpr_memory"),
        x64=x64,
        folder=os.path.abspath(confdir),
    )


def interpreter(config: Config, confdir: Path) -> str:
    """The interpreter of the worker."""
    given: str = value(config, "jaxpr_python")
    if not given:
        return sys.executable
    return str(confdir / given) if os.sep in given else given
