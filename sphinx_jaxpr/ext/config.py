"""The configuration: one object, whose fields are registered, checked and documented options.

:class:`ProjectSettings` has a field for each option of ``conf.py``.  The extension makes it
once, at ``config-inited``; the domain ``jaxpr`` keeps it, see :func:`settings_of`.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast, get_args

from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from ..program.text import echoed
from ..tracing import fingerprint
from ..tracing.folders import SITE_FOLDERS, project_in
from ..tracing.jobs import Setup, seconds
from . import values
from .records import Finding
from .values import ClaimMark, Mode, Opened, Option, Rebuild

T = TypeVar("T")

#: Allows no module: no module has this name.
NO_MODULE: Final = ("",)
#: Options whose values no message shows.
_SECRET: Final = frozenset({"jaxpr_env"})


def _finding(option: Option, value: object, problem: str, confdir: Path) -> Finding:
    """What to tell the author of a wrong value, at its line in conf.py."""
    echo = "" if option.name in _SECRET else f", not {echoed(value)}"
    used = f"{option.fallback!r} is used"
    if option.instead is NO_MODULE:
        used = "no module is allowed"
    message = f"{option.name} {problem}{echo}; {used}"
    return Finding("option", message, *conf_line(option.name, confdir))


def _option(
    name: str,
    default: object,
    rebuild: Rebuild,
    meaning: str,
    problem: Callable[[Any], str],
    convert: Callable[[Any], T],
    instead: object = None,
) -> T:
    """A field of :class:`ProjectSettings`, of the type that ``convert`` returns."""
    option = Option(name, default, rebuild, meaning, problem, convert, instead)
    made: T = field(metadata={"option": option}, repr=name not in _SECRET)
    return made


@dataclass(frozen=True, kw_only=True)
class ProjectSettings:
    """The settings in conf.py and the command line: a field for each option, checked and converted.

    Paths are as written; relative ones start at ``confdir``, the folder of conf.py.
    Properties and methods derive further values from the fields.
    """

    confdir: Path
    opened: Opened = _option(
        "jaxpr_open",
        "auto",
        "html",
        "Which blocks start open: `auto` (up to 40 printed lines), `all`, `none` or `base`.",
        values.one_of(*get_args(Opened)),
        values.as_given,
    )
    elide: frozenset[str] = _option(
        "jaxpr_elide",
        "params",
        "html",
        "What starts folded away in HTML, separated by commas: `params` (lines of parameters with"
        " neutral values, and huge ones), `casts` (equations that only change a dtype), `dead`"
        " (equations without effects that nothing uses); or `none`.",
        values.elided_problem,
        values.to_words,
    )
    timeout: float = _option(
        "jaxpr_timeout",
        30,
        "",
        "Seconds that one program may take, import of its module included; `float('inf')`: no"
        " limit. Starting JAX has 120 seconds of its own.",
        values.seconds_problem,
        seconds,
    )
    total_timeout: float = _option(
        "jaxpr_total_timeout",
        None,
        "",
        "Seconds that all tracing of one build may take, the start of its processes included. When"
        " they have passed, what is not traced yet fails with one warning of the type"
        " `jaxpr.timeout`; what was traced is shown and stored, and the next build goes on from"
        " there. `None`: no limit.",
        values.limit_problem,
        values.to_limit,
    )
    env: Mapping[str, str] = _option(
        "jaxpr_env",
        {},
        "",
        "Environment variables of the tracing process. Without `JAX_PLATFORMS` here it uses"
        " the CPU alone.",
        values.environment_problem,
        values.to_mapping,
    )
    python: str = _option(
        "jaxpr_python",
        "",
        "",
        "The interpreter that traces; it needs JAX and the documented package, not Sphinx."
        " A relative path starts at the folder of `conf.py`. Empty: the one that runs Sphinx.",
        values.path_named("the path or the name of an interpreter", empty=True),
        str,
    )
    paths: tuple[Path, ...] = _option(
        "jaxpr_paths",
        [],
        "",
        "Folders to import from, relative to the folder of `conf.py` (which is one itself).",
        values.paths_problem,
        values.to_paths,
    )
    page_code: frozenset[str] = _option(
        "jaxpr_page_code",
        [*values.PAGE_CODE[:1]],
        "env",
        "The directives whose code blocks of their page may use: `jaxpr-code`, and `code-cell`, the"
        " cells of MyST-NB in `.md` and `.ipynb` pages. Of cells only imports, functions, classes"
        " and the assignments of cells tagged `jaxpr` are run. Empty, or a wrong value: no code of"
        " a page is run.",
        values.page_code_problem,
        frozenset,
        [],
    )
    depends: tuple[str, ...] = _option(
        "jaxpr_depends",
        [],
        "",
        "Files that programs depend on in ways that no build can follow, as patterns relative to"
        " the folder of `conf.py`: `data/*.csv`, `../src/**/*.so`, or a folder for all that is"
        " in it. When one of them changes, appears or disappears, all programs are traced again.",
        values.patterns_problem,
        values.to_strings,
    )
    memory: int = _option(
        "jaxpr_memory",
        0,
        "",
        "Megabytes that the tracing process may use; `0`: half of the machine's.",
        values.natural_problem,
        int,
    )
    mode: Mode = _option(
        "jaxpr_mode",
        "trace",
        "",
        "`trace`; `locked`: all blocks come from the lock, and JAX is not needed; or `skip`:"
        " placeholders without JAX and without warnings. A wrong value counts as `skip`, since"
        " that runs no code.",
        values.one_of(*get_args(Mode)),
        values.as_given,
        "skip",
    )
    lock_dir: Path = _option(
        "jaxpr_lock_dir",
        "_jaxprs",
        "",
        "Folder of the lock, relative to the folder of `conf.py`.",
        values.path_named("the name of a folder", empty=False),
        Path,
    )
    lock_only: tuple[str, ...] = _option(
        "jaxpr_lock_only",
        [],
        "",
        "Names of the blocks that `jaxpr-lock` updates, leaving all others unchanged: of a"
        " directive, or of one block, as in `dense.grad`. A name that is local to its page follows"
        " the page, as in `guide/intro/dense`. Empty: all blocks but those that are `locked`.",
        values.names_problem,
        values.to_strings,
    )
    cache_dir: Path | None = _option(
        "jaxpr_cache_dir",
        "",
        "",
        "Folder of the results, relative to the folder of `conf.py`. Empty: `jaxpr` in the"
        " folder of the doctrees.",
        values.path_named("the name of a folder", empty=True),
        values.to_optional_path,
    )
    glossary: Mapping[str, str | Mapping[str, str]] = _option(
        "jaxpr_glossary",
        {},
        "html",
        "What primitives link to: the name of a primitive to a term of a glossary in the project,"
        " or to a definition, a dict with `meaning` and, if wanted, `kind`, `page`, `words`.",
        values.glossary_problem,
        values.to_mapping,
    )
    transforms: Mapping[str, str] = _option(
        "jaxpr_transforms",
        {},
        "env",
        "More transforms: name to `module:function`, a function"
        " `(fn, args, **options) -> (fn, args)`.",
        values.transforms_problem,
        values.to_mapping,
    )
    allowed_modules: tuple[str, ...] = _option(
        "jaxpr_allowed_modules",
        [],
        "env",
        "Top-level or dotted modules that a page may name; its own code is `<page>`. Whatever"
        " the page calls must be defined in one of them; of JAX it may pass on pure functions and"
        " dtypes. Empty: all. The option limits names and is not a sandbox; the security page has"
        " the rules. A wrong value allows none.",
        values.modules_problem,
        values.to_strings,
        NO_MODULE,
    )
    fresh: bool = _option(
        "jaxpr_fresh",
        False,
        "",
        "Trace all blocks again, whatever is stored, in a new process. The builder `jaxpr-check`"
        " does so in the opposite order, and reports where that gives another program than the"
        " stored one.",
        values.instance_of(bool, "True or False"),
        bool,
    )
    claim_mark: ClaimMark = _option(
        "jaxpr_claim_mark",
        False,
        "html",
        "`True`: show readers a small check mark behind every claim that the build has checked"
        " (HTML). `'all'`, for those who write: also show what is wrong, at its sentence and under"
        " the title of the page, and dot the numbers that nothing checks.",
        values.mark_problem,
        values.as_given,
    )
    max_equations: int = _option(
        "jaxpr_max_equations",
        2000,
        "html",
        "A program with more equations than this starts closed in HTML, unless its `open` says"
        " otherwise; in LaTeX and Texinfo only that many are shown.",
        values.natural_problem,
        int,
    )
    max_constants: int = _option(
        "jaxpr_max_constants",
        1_000_000,
        "",
        "Bytes of closed-over arrays that a program may have without a warning.",
        values.natural_problem,
        int,
    )

    @classmethod
    def from_config(cls, config: Config, confdir: Path) -> tuple[ProjectSettings, list[Finding]]:
        """The settings, and a finding for each value that is wrong and was replaced."""
        given = {name: _given(config, option) for name, option in _BY_FIELD.items()}
        converted, problems = values.converted(_BY_FIELD, given)
        findings = [
            _finding(_BY_FIELD[name], given[name], problem, confdir)
            for name, problem in problems.items()
        ]
        return cls(confdir=confdir, **converted), findings

    def location(self, name: str) -> str:
        """The file and line where conf.py sets an option, as a warning shows them."""
        return conf_location(name, self.confdir)

    def cache_folder(self, doctreedir: Path) -> Path:
        """The folder of stored results."""
        return doctreedir / "jaxpr" if self.cache_dir is None else self.confdir / self.cache_dir

    @property
    def lock_folder(self) -> Path:
        """The folder of the lock."""
        return self.confdir / self.lock_dir

    @property
    def interpreter(self) -> str:
        """The interpreter of the worker."""
        if not self.python:
            return sys.executable
        return str(self.confdir / self.python) if os.sep in self.python else self.python

    def shows_findings(self, builder: Builder) -> bool:
        """Whether pages show what is wrong with them: for those who write, not in books."""
        is_site = builder.format == "html" and not getattr(builder, "embedded", True)
        return self.claim_mark == "all" and is_site and self.mode != "skip"

    def import_roots(self) -> tuple[str, ...]:
        """Folders to import from: conf.py's, ``jaxpr_paths``, conf.py's edits of ``sys.path``."""
        folders = [str(self.confdir), *(str(self.confdir / path) for path in self.paths)]
        folders += _added_to_sys_path(os.path.abspath(self.confdir))
        return tuple(dict.fromkeys(os.path.abspath(path) for path in folders))

    def worker(self, x64: bool) -> Setup:
        """The worker that traces with or without 64-bit types."""
        return fingerprint.setup(
            self.interpreter,
            self.import_roots(),
            self.env,
            self.memory,
            x64=x64,
            folder=os.path.abspath(self.confdir),
        )


_BY_FIELD: Final[Mapping[str, Option]] = {
    setting.name: setting.metadata["option"]
    for setting in fields(ProjectSettings)
    if "option" in setting.metadata
}
#: Every option, in the order of the fields, for registration and documentation.
OPTIONS: Final = tuple(_BY_FIELD.values())


class HasSettings(Protocol):
    """The domain ``jaxpr``, which keeps the settings for all code that has the environment."""

    settings: ProjectSettings


def settings_of(env: BuildEnvironment) -> ProjectSettings:
    """The settings of the project whose pages ``env`` describes."""
    return cast(HasSettings, env.get_domain("jaxpr")).settings


def _given(config: Config, option: Option) -> Any:
    """A value as set; text from ``-D`` is converted to the value that it means."""
    value = getattr(config, option.name)
    if option.name not in config.overrides:
        return value
    if value == [""]:
        return []  # Sphinx's value for ``-D name=``
    return _meant(option, value) if isinstance(value, str) else value


def _meant(option: Option, text: str) -> Any:
    """The value that a setting's text on the command line means."""
    if isinstance(option.default, list):
        return text.split(",") if text else []
    if isinstance(option.default, bool):
        return {"0": False, "1": True}.get(text, text)
    if option.name == "jaxpr_total_timeout" and text in ("", "None"):
        return None
    if isinstance(option.default, int) or option.name == "jaxpr_total_timeout":
        for number in (int, float):
            with contextlib.suppress(ValueError):
                return number(text)
    return text


def register(app: Sphinx) -> None:
    """Make the options known to Sphinx, and all that it needs to know of them."""
    for name, default, rebuild in values.registered(OPTIONS):
        # Of any type for Sphinx: the warning about a wrong value is ours, and the only one.
        app.add_config_value(name, default, rebuild, types=Any)


def settle(config: Config) -> None:
    """Replace each wrong value by its fallback, for Sphinx and other extensions.

    Sphinx compares, sorts and pickles values, which wrong types may refuse.
    """
    given = {name: _given(config, option) for name, option in _BY_FIELD.items()}
    for name in values.problems(_BY_FIELD, given):
        option = _BY_FIELD[name]
        setattr(config, option.name, copy.copy(option.fallback))


def conf_line(name: str, confdir: Path) -> tuple[str, int]:
    """The file and the line where conf.py sets an option of any extension."""
    file = confdir / "conf.py"
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:  # set on the command line
        return "conf.py", 1
    numbers = [number for number, line in enumerate(lines, 1) if line.startswith(name)]
    return str(file), numbers[-1] if numbers else 1


def conf_location(name: str, confdir: Path) -> str:
    """The same as :func:`conf_line`, as a warning shows it."""
    file, line = conf_line(name, confdir)
    return f"{file}:{line}"


#: The archive in which Python searches for its own library first.
_OWN_ARCHIVE: Final = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"


def _added_to_sys_path(confdir: str) -> Iterator[str]:
    """The entries of ``sys.path`` that belong to the project, not to Python or its libraries."""
    own = {os.path.abspath(path) for path in sysconfig.get_paths().values()}
    project = project_in(confdir)
    for entry in sys.path:
        if not _is_folder_name(entry):
            continue  # Python skips it as well
        path = os.path.abspath(entry or os.getcwd())
        inside = (path + os.sep).startswith(SITE_FOLDERS) or path in own
        inside = inside and not (project and (path + os.sep).startswith(project))
        inside = inside or os.path.basename(path) == _OWN_ARCHIVE
        if not inside and path != os.path.dirname(sys.executable):
            yield path


def _is_folder_name(entry: object) -> bool:
    try:
        return isinstance(entry, str) and b"\0" not in os.fsencode(entry)
    except UnicodeEncodeError:
        return False
