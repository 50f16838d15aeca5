"""The words of a role: where they end, and the markup in them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes

# --- where the words end

#: What may hide a ``<``, or be one: an escape, a run of backquotes or dollars, a link's target.
_SIGN: Final = re.compile(r"\\.?|`+|\$+|\]\(<|<", re.DOTALL)
_BACKQUOTES: Final = re.compile(r"`+")
_ADDRESS: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]+:[^\s<>]*>")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_CLOSING_TAG: Final = re.compile(r"</([A-Za-z][A-Za-z0-9-]*)\s*>")
_OPENING_TAG: Final = re.compile(r"<([A-Za-z][A-Za-z0-9-]*)(?:\s[^<>]*)?>")
_EMPTY_TAG: Final = re.compile(r"<(?:br|wbr|[A-Za-z][^<>]*/)>")


def split(text: str, *, is_markdown: bool) -> tuple[str, str]:
    """The words of a role's text and the expression behind them, ``""`` where there is none.

    ``words <expression>``: the first ``<`` ends the words, unless it is escaped or belongs to
    their markup: to code, another role, math, an address ``<https://...>``, or HTML.
    ``text`` is in the page's own markup, as :func:`written` returns it.

    >>> split("`a<b` holds <len(f) < 3>", is_markdown=True)
    ('`a<b` holds', 'len(f) < 3')
    """
    text = " ".join(text.split())
    if text.endswith(">"):
        at = _Scanner(text, is_markdown).first()
        if at >= 0:
            expression = text[at + 1 : -1].strip()
            return text[:at].strip(), expression if is_markdown else unescaped(expression)
    return text, ""


class _Scanner:
    """Looks for a ``<`` outside of markup, in time proportional to the text."""

    def __init__(self, text: str, is_markdown: bool) -> None:
        self.text = text
        self.is_markdown = is_markdown
        self.runs: dict[int, list[int]] = {}  # length of a run of backquotes -> where such begin
        for run in _BACKQUOTES.finditer(text):
            # Code holds backslashes as they are; in a role of rST one escapes a backquote.
            if is_markdown or len(run[0]) > 1 or text[run.start() - 1 : run.start()] != "\\":
                self.runs.setdefault(len(run[0]), []).append(run.start())
        # The last closing tag of each name: what is opened later has none.
        self.closed = {tag[1]: tag.start() for tag in _CLOSING_TAG.finditer(text)}

    def first(self) -> int:
        """Where the ``<`` is; -1 if there is none."""
        at = 0
        while sign := _SIGN.search(self.text, at):
            at = self.behind(sign)
            if at < 0:
                return sign.start()
        return -1

    def behind(self, sign: re.Match[str]) -> int:
        """The end of the markup that begins with a sign; -1 for a ``<`` that is none."""
        if sign[0] == "<":
            return self.behind_tag(sign.start())
        if sign[0][0] == "`":
            starts = self.runs.get(len(sign[0]), [])
            after = bisect_left(starts, sign.end())
            return starts[after] + len(sign[0]) if after < len(starts) else sign.end()
        if sign[0][0] == "$" and self.is_markdown:
            end = self.text.find(sign[0], sign.end())
            while end > 0 and self.text[end - 1] == "\\":
                end = self.text.find(sign[0], end + 1)
            return end + len(sign[0]) if end > 0 else sign.end()
        if sign[0][0] == "]" and self.is_markdown:
            end = self.text.find(">", sign.end())
            return end + 1
        return sign.end() if sign[0][0] != "]" else sign.end() - 1

    def behind_tag(self, start: int) -> int:
        """The end of an address or a tag; -1 where there is neither, or nothing behind it."""
        kinds = (_ADDRESS, _COMMENT, _CLOSING_TAG, _EMPTY_TAG) if self.is_markdown else (_ADDRESS,)
        for kind in kinds:
            if match := kind.match(self.text, start):
                return match.end() if match.end() < len(self.text) else -1
        match = _OPENING_TAG.match(self.text, start) if self.is_markdown else None
        # `jax > "0.7" and jax < "0.9"` is an expression: only what is closed later is HTML.
        if match and self.closed.get(match[1], -1) >= match.end():
            return match.end()
        return -1


# --- the text of a role as its page has it


def written(text: str, *, is_markdown: bool) -> str:
    """The text that a parser gave to a role, in the markup of its page.

    MyST gives it as written: more backquotes around it let it hold code.  docutils marks
    escaped characters with a null; a backquote in a role is escaped there, and means one here.
    """
    if is_markdown:
        return text
    return text.replace("\0\\\0`", "\\\0`").replace("\0`", "`").replace("\0", "\\")


def unescaped(text: str) -> str:
    """A text of rST without its backslashes."""
    return re.sub(r"\\(?:\s|(.))", r"\1", text)


def is_markdown(inliner: Any) -> bool:
    """Whether MyST runs a role, and not docutils."""
    return type(inliner).__module__.partition(".")[0] == "myst_parser"


# --- their markup

#: How deep roles with words may be nested in each other.
DEEPEST: Final = 4
_depth: ContextVar[int] = ContextVar("depth", default=0)


@contextmanager
def _deeper() -> Iterator[bool]:
    """Whether the words of one more role may be parsed."""
    token = _depth.set(_depth.get() + 1)
    try:
        yield _depth.get() <= DEEPEST
    finally:
        _depth.reset(token)


def parsed(
    text: str, inliner: Any, line: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A text as inline markup of the language of its page, and the parser's messages.

    ``inliner`` and ``line`` are those that a role is called with.  What is nested too deeply
    stays text, with a message.
    """
    try:
        with _deeper() as is_allowed:
            if is_allowed:
                return _parsed(text, inliner, line)
    except RecursionError:
        pass
    reason = f"roles are nested more than {DEEPEST} deep; the words of the innermost stay text"
    return [nodes.Text(text)], [inliner.reporter.warning(reason, line=line)]


def _parsed(
    text: str, inliner: Any, line: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    if is_markdown(inliner):
        # MyST counts the lines of a nested text from 0.
        children, messages = inliner.parse(text, line - 1, None, inliner.parent)
        return [*children], messages
    # Once more with the same inliner: it goes on with the paragraph afterwards.
    memo = SimpleNamespace(
        document=inliner.document, reporter=inliner.reporter, language=inliner.language
    )
    children, messages = inliner.parse(text, line, memo, inliner.parent)
    return children, messages


def plain(children: Iterable[nodes.Node]) -> str:
    """Words without their markup, as messages show them."""
    return " ".join("".join(map(_text, children)).split())


def _text(node: nodes.Node) -> str:
    if isinstance(node, nodes.system_message | nodes.raw):
        return ""
    return "".join(map(_text, node.children)) if node.children else node.astext()


_RAW: Final = re.compile(r":(?P<role>[^`]+):`(?P<text>.*)`", re.DOTALL)


def cut_off(node: nodes.Element) -> str:
    """A role as its author meant it, if a backquote in the words ends it in Markdown; else ``""``.

    Of ``{eqn}`the `tanh` <f[tanh]>` `` the role is ``the ``; behind it are text and code in turn,
    up to code that ends as an expression does.
    """
    raw = _RAW.fullmatch(node["raw"])
    if raw is None or raw["text"].endswith(">"):
        return ""
    text = raw["text"]
    for position, sibling in enumerate(node.parent[node.parent.index(node) + 1 :]):
        written = sibling.astext()
        is_code = isinstance(sibling, nodes.literal)
        is_next = is_code if position % 2 else isinstance(sibling, nodes.Text)
        if not is_next or (position == 0 and written[0].isspace()):
            return ""
        text += f"`{written}"
        if is_code and "<" in written and written.endswith(">"):
            return f"{{{raw['role']}}}``{text}``"
    return ""


# --- words of a link hold no other one

_LINKS: Final = (nodes.reference, addnodes.pending_xref, nodes.problematic)
_NOTES: Final = (nodes.footnote_reference, nodes.citation_reference)
_RAW_LINK: Final = re.compile(r"</?a\b", re.IGNORECASE)


def unwrap(node: nodes.Element) -> None:
    """Put the children of an inline node in its place, with its ids if it has any."""
    kept = nodes.inline("", "", *node.children)
    has_attributes = any(node[name] for name in node.basic_attributes)
    node.replace_self(kept if has_attributes else kept.children)


def without_links(node: nodes.Element) -> list[str]:
    """Remove links from the words of a link; what they said.

    Marks of footnotes, which need their links, go behind ``node``.
    """
    removed = []
    for inner in [*node.findall(lambda each: isinstance(each, nodes.Element) and each is not node)]:
        assert isinstance(inner, nodes.Element)
        if isinstance(inner, _NOTES):
            inner.parent.remove(inner)
            node.parent.insert(node.parent.index(node) + 1, inner)
        elif isinstance(inner, _LINKS):
            removed.append(inner.astext())
            unwrap(inner)
        elif isinstance(inner, nodes.raw) and _RAW_LINK.match(inner.astext()):
            if not inner.astext().startswith("</"):
                removed.append(inner.astext())
            inner.parent.remove(inner)
    return removed
