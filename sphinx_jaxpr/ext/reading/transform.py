"""``jaxpr-transform``: reads its text, checks it, leaves a node.  Traces nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from docutils import nodes

from ...tracing import grammar
from ...tracing.grammar import Chain, GrammarError, nearest, shorten
from ...tracing.request import Request, checked, is_target, is_within, local_name, seconds
from ..config import settings_of
from ..nodes import jaxpr_blocks, jaxpr_note
from ..records import COMPARE, Block, DirectiveRecord, Finding, Note
from . import elide
from .myst import COMPLAINTS, markdown_traps
from .notes import node_of, split
from .options import BlockDirective
from .source_lines import documented, locate

OPTIONS = (
    "args", "static", "transforms", "mesh", "name", "caption", "open", "elide", "base", "layout",
    "source", "jit", "x64", "raises", "timeout", "locked", "class",
)  # fmt: skip
FLAGS = frozenset({"source", "jit", "x64", "locked"})
#: Options that only the worker, or the result, can prove wrong.
_JUDGED = ("args", "static", "mesh")
#: Options in which a substitution would be meant: MyST's, and that of reStructuredText.
_PLAIN = ("args", "static", "transforms", "mesh")
_SUBSTITUTION = re.compile(r"\{\{.+?\}\}|^\s*\|[^\W\d][\w ]*\|\s*$", re.DOTALL)


class JaxprTransform(BlockDirective):
    """The directive of DESIGN 2.1; its record is the node's ``directive``."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_blocks`` with the caption as its child."""
        self.place = locate(self)
        self.findings: list[Finding] = []
        self._check_options()
        target = self._target()
        name, explicit = self._name(target)
        base_request, chains = self._requests(target)
        blocks = self._blocks(name, base_request, chains)
        node = jaxpr_blocks()
        self.set_source_info(node)
        caption = self._caption(node)
        notes = self._notes()
        node += [child for _, child in notes]
        opened = self._open(blocks)
        words, paths = self._elide(blocks)
        node["directive"] = DirectiveRecord(
            source=self.place.source,
            line=self.place.line,
            name=name,
            explicit=explicit,
            blocks=tuple(blocks),
            opened=opened,
            elide=words,
            elided=paths,
            layout=self._layout,
            with_source="source" in self.options,
            raises=self._raises(),
            timeout=self._timeout(),
            classes=tuple(self._classes()),
            caption=caption,
            notes=tuple(note for note, _ in notes),
            findings=tuple(self.findings),
            lines=tuple((o, self.place.option(o)) for o in _JUDGED if o in self.options),
        )
        return [node]

    # -- findings

    def _check_options(self) -> None:
        self._check_characters()
        for option in self.options:
            if option not in OPTIONS:
                self._unknown(option, OPTIONS)
        for flag in FLAGS & set(self.options):
            if self.options[flag]:
                self._finding(
                    f"option {flag!r} is a flag, without a value; found"
                    f" {shorten(self.options[flag])}",
                    flag,
                )
        self._check_traps()
        self._check_substitutions()
        for option in ("args", "static", "transforms", "mesh"):
            empty = option in self.options and not self.options[option].strip()
            if empty and option not in self.explained:
                self._finding(
                    f"option {option!r} is empty: leave it out, or give it a value", option
                )

    def _check_substitutions(self) -> None:
        for option in _PLAIN:
            found = _SUBSTITUTION.search(str(self.options.get(option) or ""))
            if found and option not in self.explained:
                self._finding(
                    f"{option}: substitutions such as {found[0].strip()[:40]} are not replaced in"
                    " options; write the value itself",
                    option,
                )
                self.explained |= {option}

    def _check_traps(self) -> None:
        complaints = COMPLAINTS.take()
        traps = markdown_traps(self.place, self.options, list(self.content), complaints)
        self.explained = frozenset(traps.options)
        # A body without an argument is the argument on the wrong line.
        self.has_notes = not traps.body and bool(self.arguments)
        for message, line in traps.found:
            self.findings.append(Finding("option", message, self.place.source, line))

    def _notes(self) -> list[tuple[Note, jaxpr_note]]:
        """The notes of the body, parsed as the page is."""
        if not self.has_notes:
            return []
        lines = list(self.content)
        found, problems = split(lines)
        first = self.place.content(lines)
        for offset, message in problems:
            finding = Finding("option", message, self.place.source, first + offset)
            self.findings.append(finding)
        notes = []
        for offset, path, text in found:
            children = self.parse_text_to_nodes(text, offset=self.content_offset + offset + 1)
            note = Note(path, self.place.source, first + offset)
            notes.append((note, node_of(path, children)))
        return notes

    # -- parts

    def _target(self) -> str:
        argument = self.arguments[0].strip() if self.arguments else ""
        if "\n" in argument:
            first = argument.split("\n")[0].strip()
            self._finding(
                "the argument goes over more than one line; write it on the directive's own"
                f" line: {self._form(first)}, and options as :args: ... below it"
            )
            argument = first
        if not argument:
            below = next((line.strip() for line in self.content if line.strip()), "")
            meant = below if is_target(below) else "package.module:function"
            self._finding(
                f"no function is named; write it on the directive's own line: {self._form(meant)}"
            )
            return ""
        resolved = self._resolve(argument)
        self.bare = resolved != argument
        if not is_target(resolved) or (":" not in resolved and "." not in resolved):
            self._finding(
                f"{shorten(argument)} names no function; expected package.module:qualname, as in"
                f" {self._form('package.module:function')}"
            )
            return ""
        allowed = self._allowed()
        inside = [resolved.partition(":")[0], *(self._around() if self.bare else ())]
        if allowed and not any(is_within(name.partition(":")[0], allowed) for name in inside):
            self._finding(
                f"{shorten(resolved)} is outside jaxpr_allowed_modules ({', '.join(allowed)})"
            )
            return ""
        return resolved

    def _allowed(self) -> tuple[str, ...]:
        return settings_of(self.env).allowed_modules

    def _form(self, argument: str) -> str:
        if self.place.markdown:
            first = self.place.lines[0].lstrip(" >*-") if self.place.lines else "```"
            return f"{first.partition('{')[0]}{{{self.name}}} {argument}"
        return f".. {self.name}:: {argument}"

    def _resolve(self, argument: str) -> str:
        """In a docstring a bare name belongs to its module, ``.name`` to its class."""
        module = self.env.ref_context.get("py:module") or ""
        module = module or next(iter(self._around()), "").partition(":")[0]
        if argument.startswith("."):
            owner = self.env.ref_context.get("py:class") or ""
            path = f"{owner}{argument}" if owner else argument[1:]
            return f"{module}:{path}" if module else argument
        if module and ":" not in argument and "." not in argument:
            return f"{module}:{argument}"
        return argument

    def _around(self) -> tuple[str, ...]:
        """The modules of the text, the nearest first: its docstring's own, the current one."""
        current = self.env.ref_context.get("py:module") or ""
        found = [documented(self, self.place.source), current]
        allowed = self._allowed()
        return tuple(
            name for name in dict.fromkeys(filter(None, found))
            if not allowed or is_within(name.partition(":")[0], allowed)
        )  # fmt: skip

    def _name(self, target: str) -> tuple[str, bool]:
        given = self._explicit()
        return given or (local_name(target) if target else "block"), bool(given)

    def _parsed(self, option: str, parse: Any) -> Any:
        """An option through its grammar; ``None`` where that fails."""
        try:
            return parse(self.options.get(option, ""))
        except GrammarError as error:
            if option in self.explained:
                return None
            text = self.options[option]
            line = self.place.option(option) + text.count("\n", 0, error.offset)
            near = text[error.offset :].split("\n")[0][:30]
            at = f" at {shorten(near)}" if near else " at its end"
            self.findings.append(
                Finding("option", f"{option}: {error}{at}", self.place.source, line)
            )
            return None

    def _requests(self, target: str) -> tuple[Request | None, list[tuple[Chain, str]]]:
        args = self._parsed("args", grammar.arguments)
        static = self._parsed("static", grammar.static)
        chains = self._parsed("transforms", grammar.transforms)
        mesh = self._parsed("mesh", grammar.mesh)
        x64 = "x64" in self.options
        if args is not None and not x64:
            self._check_wide(args)
        base = None
        readable = args is not None and static is not None
        if target and readable and (mesh is not None or not self.options.get("mesh", "").strip()):
            around = self._around()
            if all(name == target.partition(":")[0] for name in around):
                around = ()  # names are looked up in the target's module anyway
            base = Request(
                target,
                args,
                static,
                jit="jit" in self.options,
                x64=x64,
                allowed=self._allowed(),
                mesh=mesh,
                around=around,
                bare=self.bare and bool(around),
            )
        if chains is None:
            return base, [(Chain((), "variant"), "the transforms could not be read")]
        return base, self._checked(chains)

    def _check_wide(self, args: Any) -> None:
        wide = sorted(
            {w for w in grammar.WIDE if re.search(rf"\b{w}\[", self.options.get("args", ""))}
        )
        for dtype in wide:
            narrow = dtype.replace("128", "64") if dtype == "c128" else dtype.replace("64", "32")
            self._finding(
                f"args: {dtype} is traced as {narrow} without the flag x64 (add :x64:)", "args"
            )

    def _checked(self, chains: tuple[Chain, ...]) -> list[tuple[Chain, str]]:
        found = checked(chains, settings_of(self.env).transforms)
        for chain, problem in found:
            if problem:
                line = self._line_of(chain)
                self.findings.append(
                    Finding("option", f"transforms: {problem}", self.place.source, line)
                )
        return found

    def _blocks(
        self, name: str, base: Request | None, chains: list[tuple[Chain, str]]
    ) -> list[Block]:
        problem = "" if base else next((f.message for f in self.findings), "not understood")
        expects = "raises" in self.options
        third_party = settings_of(self.env).transforms
        requests: list[tuple[str, Request | None, str]] = [("", base, problem)]
        lines = [self.place.line]
        for chain, wrong in chains:
            request = base.variant(chain, third_party) if base and not wrong else None
            requests.append((chain.label, request, wrong or problem))
            lines.append(self._line_of(chain))
        label, last, wrong = requests[-1]
        if expects and last is not None:
            requests[-1] = (label, replace(last, expects_error=True), wrong)
        self._layout = self._choice("layout", ("stack", COMPARE), "stack")
        # Beside its variants the base is always shown.
        hide = self._choice("base", ("show", "hide"), "show") == "hide"
        show_base = not hide or self._layout == COMPARE
        blocks = []
        taken: set[str] = set()
        for place, (label, request, wrong) in enumerate(requests):
            full = f"{name}.{label}" if label else name
            identity = f"jaxpr-{full}" if full not in taken else f"jaxpr-{full}-{place}"
            taken.add(full)
            shown = bool(label) or show_base or len(requests) == 1
            digest = request.digest if request else ""
            line = lines[place]
            locked = "locked" in self.options
            blocks.append(
                Block(full, label, identity, request, digest, wrong, shown, line, locked=locked)
            )
        return blocks

    def _line_of(self, chain: Chain) -> int:
        text: str = self.options["transforms"]
        return self.place.option("transforms") + text.count("\n", 0, chain.offset)

    def _open(self, blocks: list[Block]) -> str:
        given = str(self.options.get("open", "")).strip()
        if given in ("", "auto", "all", "none", "base"):
            return given
        labels = [block.label for block in blocks if block.label]
        wanted = [word for word in re.split(r"[\s,]+", given) if word]
        for word in wanted:
            if word not in labels and word != "base":
                known = ("auto", "all", "none", "base", *labels)
                self._finding(
                    f"open: {shorten(word)} is not a label here{nearest(word, known)}"
                    f" (known: {', '.join(known)})",
                    "open",
                )
        return ",".join(wanted)

    def _elide(self, blocks: list[Block]) -> tuple[tuple[str, ...], tuple[Note, ...]]:
        text = str(self.options.get("elide", ""))
        names = (*(block.label for block in blocks if block.label), blocks[0].name)
        found = elide.read(text, names)
        first = self.place.option("elide")

        def line(offset: int) -> int:
            return first + text.count("\n", 0, offset)

        for message, offset in found.problems:
            finding = Finding("option", message, self.place.source, line(offset))
            self.findings.append(finding)
        paths = [Note(path, self.place.source, line(offset)) for path, offset in found.paths]
        return found.words, tuple(paths)

    def _raises(self) -> str:
        if "raises" not in self.options:
            return ""
        given: str = self.options["raises"].strip()
        kind = given.partition(":")[0].strip()
        if not kind.rpartition(".")[2].isidentifier():
            self._finding(
                "raises: expected an exception type, optionally with a part of its message,"
                f" as in TypeError: must be; found {shorten(given)}",
                "raises",
            )
            return ""
        return given

    def _timeout(self) -> float:
        given = self.options.get("timeout")
        if given is None:
            return 0.0
        found = seconds(given)
        if not found:
            text = f"timeout: expected a number of seconds, found {shorten(given)}; inf is no limit"
            self._finding(text, "timeout")
        return found
