"""``jaxpr-transform``: reads its text, checks it, leaves a node.  Traces nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from docutils import nodes

from ...program.text import shorten
from ...tracing.jobs import PAGE, seconds
from ...tracing.making import called_target
from ...tracing.options import (
    SHOW_WORDS,
    TraceOptions,
    is_bare,
    names_function,
    narrowed,
    read_labels,
    read_options,
)
from ...tracing.request import Request, checked, is_target, is_within, local_name
from ...tracing.specs import Chain
from ..config import ProjectSettings, settings_of
from ..nodes import jaxpr_blocks
from ..records import COMPARE, Asked, Block, DirectiveRecord, Finding
from .options import BlockDirective
from .source_lines import documented

OPTIONS = (
    "args", "static", "transforms", "mesh", "make", "then", "name", "caption", "open", "elide",
    "show", "base", "layout", "source", "jit", "x64", "raises", "timeout", "locked", "class",
)  # fmt: skip
FLAGS = frozenset({"source", "jit", "x64", "locked"})
#: Options that only the worker or the result can prove wrong.
_JUDGED = ("args", "static", "mesh", "make", "then")
#: Options where authors may try a substitution, of MyST or reStructuredText.
_PLAIN = ("args", "static", "transforms", "mesh", "make", "then")
_SUBSTITUTION = re.compile(r"\{\{.+?\}\}|^\s*\|[^\W\d][\w ]*\|\s*$", re.DOTALL)


class _VariantRequest(NamedTuple):
    """The function, or a chain of transforms: its label, its request or a problem, its line."""

    label: str
    request: Request | None
    problem: str
    line: int


class _Placement(NamedTuple):
    """The labels of the blocks that the directive shows, and the option that hides others."""

    shown: set[str]
    hidden_by: str = ""
    hints: tuple[Finding, ...] = ()


class JaxprTransform(BlockDirective):
    """A function and its transforms.  Leaves in the doctree, for a page with one note::

    <jaxpr_blocks directive="DirectiveRecord(...)">
        <caption>
            ...
        <jaxpr_note path="grad[tanh]">
            <paragraph>
                ...
    """

    optional_arguments = 1
    final_argument_whitespace = True
    option_names = OPTIONS

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_blocks`` with the caption and the notes as its children."""
        self.begin()
        self._check_options()
        #: What is wrong with the target if the page has no code.
        self.without_code = ""
        #: The target as written if it is a single name on a page, not in a docstring.
        self.bare_name = ""
        target = self._target()
        name, explicit = self._name(target)
        options = self._read_options()
        base = self._base(target, options)
        chains = self._chains(options)
        layout = self._choice("layout", ("stack", COMPARE), "stack")
        variants = self._variants(base, chains)
        labels = [variant.label for variant in variants if variant.label]
        placement = self._placement(labels, layout)
        blocks = self._blocks(name, variants, placement.shown)
        requests = [variant.request for variant in variants if variant.request is not None]
        node = jaxpr_blocks()
        self.set_source_info(node)
        caption = self._caption(node)
        # A body without an argument is the argument on the wrong line.
        notes = self._notes() if self.has_notes and self.arguments else []
        node += [child for _, child in notes]
        opened = self._opened(labels)
        words, paths = self._elide((*labels, blocks[0].name))
        node["without_code"] = self.without_code
        node["bare_name"] = self.bare_name
        node["directive"] = DirectiveRecord(
            source=self.span.source,
            line=self.span.line,
            name=name,
            explicit=explicit,
            blocks=tuple(blocks),
            opened=opened,
            elide=words,
            elided=paths,
            layout=layout,
            with_source="source" in self.options,
            raises=self._raises(),
            timeout=self._timeout(),
            classes=tuple(self._classes()),
            caption=caption,
            notes=tuple(note for note, _ in notes),
            findings=tuple(self.findings),
            lines=tuple((o, self.span.option(o)) for o in _JUDGED if o in self.options),
            modules=tuple(dict.fromkeys(name for each in requests for name in each.modules)),
            hidden_by=placement.hidden_by,
            hints=placement.hints,
        )
        return [node]

    # -- findings

    def _check_options(self) -> None:
        self._check_characters()
        self.check_option_names()
        self._check_flags(FLAGS)
        misread = self.check_myst_options()
        #: Options with a message already.
        self.explained = frozenset(misread.options)
        self.has_notes = not misread.body
        self._check_substitutions()
        for option in _PLAIN:
            empty = option in self.options and not self.options[option].strip()
            if empty and option not in self.explained:
                message = f"option {option!r} is empty: leave it out, or give it a value"
                if option == "make":
                    message += "; () calls the target without arguments"
                self.add_finding(message, option=option)

    def _check_substitutions(self) -> None:
        for option in _PLAIN:
            match = _SUBSTITUTION.search(str(self.options.get(option) or ""))
            if match and option not in self.explained:
                self.add_finding(
                    f"{option}: substitutions such as {match[0].strip()[:40]} are not replaced in"
                    " options; write the value itself",
                    option=option,
                )
                self.explained |= {option}

    # -- parts

    def _target(self) -> str:
        argument = self.arguments[0].strip() if self.arguments else ""
        if "\n" in argument:
            first = argument.split("\n")[0].strip()
            self.add_finding(
                "the argument is longer than one line; write it on the directive's own"
                f" line: {self._form(first)}, and options as :args: ... below it"
            )
            argument = first
        if not argument:
            below = next((line.strip() for line in self.content if line.strip()), "")
            meant = below if is_target(below) else "package.module:function"
            self.add_finding(
                "the function is missing; write it on the directive's own line:"
                f" {self._form(meant)}"
            )
            return ""
        resolved = self._resolve(argument)
        self.bare = resolved != argument
        if self.bare and argument.isidentifier() and not documented(self, self.span.source):
            self.bare_name = argument
        if not names_function(resolved):
            problem = (
                f"{shorten(argument)} does not name a function; expected package.module:qualname,"
                f" as in {self._form('package.module:function')}"
            )
            if (called := called_target(argument)) is not None:
                problem = f"{shorten(argument)} does not name a function: {called.hint()}"
            if is_bare(resolved):  # if the page has code, that is known once all is read
                self.without_code = problem
                return resolved
            self.add_finding(problem)
            return ""
        allowed = self._allowed()
        inside = [resolved.partition(":")[0], *(self._around if self.bare else ())]
        if allowed and not any(is_within(name.partition(":")[0], allowed) for name in inside):
            problem = f"{shorten(resolved)} is outside jaxpr_allowed_modules ({', '.join(allowed)})"
            if PAGE in allowed and ":" not in resolved:
                self.without_code = problem
                return resolved
            self.add_finding(problem)
            return ""
        return resolved

    @cached_property
    def settings(self) -> ProjectSettings:
        """The settings of the project."""
        return settings_of(self.env)

    def _allowed(self) -> tuple[str, ...]:
        return self.settings.allowed_modules

    def _resolve(self, argument: str) -> str:
        """Resolve a name in a docstring: a bare one in its module, ``.name`` in its class."""
        module = self.env.ref_context.get("py:module") or ""
        module = module or next(iter(self._around), "").partition(":")[0]
        if argument.startswith("."):
            owner = self.env.ref_context.get("py:class") or ""
            path = f"{owner}{argument}" if owner else argument[1:]
            return f"{module}:{path}" if module else argument
        if module and ":" not in argument and "." not in argument:
            return f"{module}:{argument}"
        return argument

    @cached_property
    def _around(self) -> tuple[str, ...]:
        """The modules of the text, the nearest first: its docstring's own, the current one."""
        current = self.env.ref_context.get("py:module") or ""
        modules = [documented(self, self.span.source), current]
        allowed = self._allowed()
        return tuple(
            name for name in dict.fromkeys(filter(None, modules))
            if not allowed or is_within(name.partition(":")[0], allowed)
        )  # fmt: skip

    def _name(self, target: str) -> tuple[str, bool]:
        given = self._explicit()
        return given or (local_name(target) if target else "block"), bool(given)

    def _read_options(self) -> TraceOptions:
        """Read the options that affect tracing, with a finding for each that can't be read."""
        text = self.options.get
        options = read_options(**{option: text(option, "") for option in _PLAIN})
        for problem in options.problems:
            if problem.option not in self.explained:
                line = self.span.option(problem.option) + problem.line
                self.add_finding(str(problem), line=line)
        if options.is_readable("args") and "x64" not in self.options:
            for wide, narrow in narrowed(text("args", "")).items():
                message = f"args: {wide} is traced as {narrow} without the flag x64 (add :x64:)"
                self.add_finding(message, option="args")
        return options

    def _base(self, target: str, options: TraceOptions) -> Request | None:
        """The request of the function itself, if it can be read."""
        if not target or not options.is_readable(*_JUDGED):
            return None
        around = self._around
        if all(name == target.partition(":")[0] for name in around):
            around = ()  # names are looked up in the target's module anyway
        return options.request(
            target,
            jit="jit" in self.options,
            x64="x64" in self.options,
            allowed=self._allowed(),
            around=around,
            bare=self.bare and bool(around),
        )

    def _chains(self, options: TraceOptions) -> list[tuple[Chain, str]]:
        """The transforms of each variant, with their problems."""
        if not options.is_readable("transforms"):
            return [(Chain((), "variant"), "the transforms could not be read")]
        chains = checked(options.transforms, self.settings.transforms)
        for chain, problem in chains:
            if problem:
                self.add_finding(f"transforms: {problem}", line=self._line_of(chain))
        return chains

    def _variants(
        self, base: Request | None, chains: list[tuple[Chain, str]]
    ) -> list[_VariantRequest]:
        """The function itself, then each chain of transforms."""
        problem = "" if base else next((f.message for f in self.findings), "not understood")
        third_party = self.settings.transforms
        variants = [_VariantRequest("", base, problem, self.span.line)]
        for chain, wrong in chains:
            request = base.variant(chain, third_party) if base and not wrong else None
            line = self._line_of(chain)
            variants.append(_VariantRequest(chain.label, request, wrong or problem, line))
        last = variants[-1]
        if "raises" in self.options and last.request is not None:
            variants[-1] = last._replace(request=replace(last.request, expects_error=True))
        return variants

    def _placement(self, labels: list[str], layout: str) -> _Placement:
        """Which blocks are shown here."""
        if "show" in self.options:
            placement = self._chosen(labels)
        else:
            placement = self._without_base(labels)
        if layout == COMPARE and placement.shown:  # the base is always beside its variants
            placement.shown.add("")
        return placement

    def _chosen(self, labels: list[str]) -> _Placement:
        """The blocks that ``show`` names."""
        if "base" in self.options:
            message = "base and show can't be combined; leave out base, the older form"
            self.add_finding(message, option="base")
        every = {"", *labels}
        shown, unknown = read_labels(str(self.options["show"]), labels, SHOW_WORDS)
        self._unknown_labels("show", unknown, (*SHOW_WORDS, *labels))
        if shown in ("", "all"):
            return _Placement(every)
        chosen = {"" if word == "base" else word for word in shown.split(",")} & every
        if not chosen and unknown:
            return _Placement(every)  # rather too much than nothing
        return _Placement(chosen, f"show: {', '.join(shown.split(','))}")

    def _without_base(self, labels: list[str]) -> _Placement:
        """The blocks that ``base`` leaves, the older form of ``show``, with a hint at that."""
        # Without a variant there would be nothing to see.
        hides = self._choice("base", ("show", "hide"), "show") == "hide" and bool(labels)
        hints = []
        if "base" in self.options:
            words = ", ".join(labels) if hides else "all"
            message = f"base is an older form of show: write :show: {words}"
            hints.append(Finding("hint", message, self.span.source, self.span.option("base")))
        shown = set(labels) if hides else {"", *labels}
        return _Placement(shown, "base: hide" if hides else "", tuple(hints))

    def _blocks(self, name: str, variants: list[_VariantRequest], shown: set[str]) -> list[Block]:
        blocks = []
        taken: set[str] = set()
        locked = "locked" in self.options
        base = variants[0].request
        shared = base.to_json() if base else {}
        for number, (label, request, problem, line) in enumerate(variants):
            full = f"{name}.{label}" if label else name
            identity = f"jaxpr-{full}" if full not in taken else f"jaxpr-{full}-{number}"
            taken.add(full)
            is_shown = label in shown
            asked = Asked.of_json(request, request.variant_json(shared)) if request else None
            digest = asked.digest if asked else ""
            blocks.append(
                Block(full, label, identity, asked, digest, problem, is_shown, line, locked=locked)
            )
        return blocks

    def _line_of(self, chain: Chain) -> int:
        text: str = self.options["transforms"]
        return self.span.option("transforms") + text.count("\n", 0, chain.offset)

    def _raises(self) -> str:
        if "raises" not in self.options:
            return ""
        given: str = self.options["raises"].strip()
        kind = given.partition(":")[0].strip()
        if not kind.rpartition(".")[2].isidentifier():
            self.add_finding(
                "raises: expected an exception type, optionally with a part of its message,"
                f" as in TypeError: must be; found {shorten(given)}",
                option="raises",
            )
            return ""
        return given

    def _timeout(self) -> float:
        given = self.options.get("timeout")
        if given is None:
            return 0.0
        limit = seconds(given)
        if not limit:
            self.add_finding(
                f"timeout: expected a number of seconds, found {shorten(given)}; inf means no"
                " limit",
                option="timeout",
            )
        return limit
