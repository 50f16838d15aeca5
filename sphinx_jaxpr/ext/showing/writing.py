"""What the author of a page sees with ``jaxpr_claim_mark = "all"``: findings, and loose numbers.

Findings are text at the sentence, and a list under the title that links there: nothing has to be
pointed at to be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from docutils import nodes
from sphinx import addnodes

from ...program.text import plural
from ..judging.domain import JaxprDomain
from ..judging.findings import StatementChecker, cut
from ..nodes import jaxpr_claims, jaxpr_statement, jaxpr_when
from ..reading.statements import in_title
from ..records import FALSE, TRUE, UNJUDGED, Finding, Statement, Verdict


def pages_of(document: nodes.document, page: str) -> list[str]:
    """The pages of a tree, ``page`` first: one, or several that ``singlehtml`` puts together."""
    files = document.findall(addnodes.start_of_file)
    return list(dict.fromkeys([page, *(str(node["docname"]) for node in files)]))


class WritingMarks:
    """The marks of one tree with some ``pages``, the first of which it belongs to."""

    def __init__(
        self,
        domain: JaxprDomain,
        checker: StatementChecker,
        document: nodes.document,
        pages: list[str],
    ) -> None:
        self.checker = checker
        self.document = document
        self.pages = pages
        self.findings = [each for page in pages for each in domain.findings_of(page)]
        self.file = str(domain.env.doc2path(pages[0]))
        self.has_blocks = any(checker.verdicts.scopes.appearances.pages.get(p) for p in self.pages)
        self._marks: list[tuple[Finding, nodes.Element]] = []  # from the end of the tree

    def beside(self, node: nodes.Element) -> list[nodes.Node]:
        """A mark for a statement with which something is wrong."""
        if isinstance(node, jaxpr_claims):
            return [*self._of_directive(node, {line for line, *_ in node["lines"]})]
        if isinstance(node, jaxpr_when):
            return [*self._of_directive(node, {node.line or 1})]
        page, statement = node["docname"], node["statement"]
        verdict = None
        if not statement.problem:  # the lines of other builders are not on this page
            statement, verdict = self.checker.verdicts.resolved(page, statement)[0]
        finding = self.checker.finding(page, statement, verdict)
        text = _short(statement, verdict, finding)
        if not text or in_title(node):
            return []
        mark = nodes.inline("", "", *_prose(f"\u2717 {text}"), classes=["jaxpr-finding"])
        self._name(mark, finding)
        return [nodes.Text(" "), mark]

    def _of_directive(self, node: nodes.Element, lines: set[int]) -> Iterator[nodes.Node]:
        """Marks in the place of lines that readers don't see."""
        for finding in _in_order(self.findings):
            if finding.source == str(node.source) and finding.line in lines:
                text = f"\u2717 {finding.message}"
                mark = nodes.paragraph("", "", *_prose(text), classes=["jaxpr-finding"])
                self._name(mark, finding)
                yield mark

    def _name(self, mark: nodes.Element, finding: Finding | None) -> None:
        """Note what a mark says, for the link of the list."""
        if finding is not None:
            self._marks.append((cut(finding), mark))

    def _ids(self) -> dict[Finding, str]:
        """The ids to which the list links: of the first mark of each finding."""
        ids: dict[Finding, str] = {}
        for finding, mark in reversed(self._marks):
            if finding not in ids:
                ids[finding] = f"jaxpr-finding-{len(ids) + 1}"
                mark["ids"].append(ids[finding])
        return ids

    def finish(self) -> None:
        """Mark numbers that nothing checks, and put the list under the title."""
        loose = mark_numbers(self.document) if self.has_blocks else 0
        parts = [plural(len(self.findings), "finding")] if self.findings else []
        if true := self._count_true():
            parts.append(plural(true, "statement checked", "statements checked"))
        if loose:
            parts.append(f"{plural(loose, 'number')} that nothing checks (dotted)")
        if not parts:
            return
        box = nodes.container(classes=["jaxpr-findings"])
        box["classes"] += ["jaxpr-clean"] * (not self.findings)
        sign = "\u2717" if self.findings else "\u2713"
        text = f"{sign} {', '.join(parts)}."
        box += nodes.paragraph(text, text)
        if self.findings:
            ids = self._ids()
            items = (self._item(each, ids.get(each, "")) for each in _in_order(self.findings))
            box += nodes.bullet_list("", *items)
        title = next(iter(self.document.findall(nodes.title)), None)
        if title is None or not isinstance(title.parent, nodes.section):
            self.document.insert(0, box)
        else:
            title.parent.insert(title.parent.index(title) + 1, box)

    def _count_true(self) -> int:
        judged = (pair for page in self.pages for pair in self.checker.judged(page))
        return sum(verdict is not None and verdict.state == TRUE for _, verdict in judged)

    def _item(self, finding: Finding, identity: str) -> nodes.list_item:
        """One finding, with a link to its mark if it has one."""
        where = f"line {finding.line}"
        if finding.source != self.file:
            where = f"{os.path.basename(finding.source)}, {where}"
        head: nodes.Node = nodes.Text(where)
        if identity:
            head = nodes.reference(where, where, internal=True, refid=identity)
        text = _prose(f": {finding.message} [jaxpr.{finding.kind}]")
        return nodes.list_item("", nodes.paragraph("", "", head, *text))


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.source, finding.line))


def _short(statement: Statement, verdict: Verdict | None, finding: Finding | None) -> str:
    """What a mark says; its sentence is beside it."""
    if verdict is None:
        return statement.problem
    if verdict.state == UNJUDGED:
        return f"not checked: {verdict.text}"
    if verdict.state == FALSE and finding is not None:
        return f"false: {verdict.text}"
    return "" if finding is None else verdict.text or finding.message


def _prose(text: str) -> Iterator[nodes.Node]:
    """A message as nodes: what is in backquotes as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one that nothing closes
        parts = [text]
    for number, part in enumerate(parts):
        if part:
            yield nodes.literal(part, part) if number % 2 else nodes.Text(part)


# --- numbers

_WORDS: Final = "two three four five six seven eight nine ten eleven twelve twice".split()
#: A count in prose: no version, year, share or sum of money, no part of a name or a type, no label
#: such as "step 2".
_NUMBER: Final = re.compile(
    r"(?<![\w.,/#$€£-])(?<!JAX )(?<!Python )(?<!\bversion )(?<!\bstep )(?<!\bfigure )"
    r"(?<!\bsection )(?<!\bchapter )(?<!\bpart )(?<!\bpage )(?<!\btable )(?<!\bline )(?!20[12]\d\b)"
    rf"(?:\d+(?:,\d{{3}})*(?:\.\d+)?|{'|'.join(_WORDS)})(?![\w/%-]|[.,]\d|\s?%)",
    re.IGNORECASE,
)
#: What isn't prose, or is checked, or is of the page's own apparatus.
_SKIPPED: Final = (
    *(nodes.literal, nodes.reference, addnodes.pending_xref, nodes.math, nodes.raw, nodes.title),
    *(nodes.entry, nodes.footnote, nodes.citation, nodes.footnote_reference),
    nodes.title_reference,
    *(nodes.citation_reference, nodes.problematic, nodes.system_message, jaxpr_statement),
)


def mark_numbers(document: nodes.document) -> int:
    """Mark the numbers in paragraphs that no role binds; how many there are."""
    total = 0
    for text in list(document.findall(nodes.Text)):
        if not _is_prose(text):
            continue
        parts: list[nodes.Node] = []
        end = 0
        for match in _NUMBER.finditer(text):
            parts.append(nodes.Text(text[end : match.start()]))
            parts.append(nodes.inline("", match[0], classes=["jaxpr-unchecked"]))
            end = match.end()
        if parts:
            total += len(parts) // 2
            parts.append(nodes.Text(text[end:]))
            text.parent.replace(text, [part for part in parts if part.astext()])
    return total


def _is_prose(text: nodes.Text) -> bool:
    node: nodes.Element | None = text.parent
    in_paragraph = False
    while node is not None:
        classes: list[str] = node["classes"]
        if isinstance(node, _SKIPPED) or any(name.startswith("jaxpr-") for name in classes):
            return False
        in_paragraph = in_paragraph or isinstance(node, nodes.paragraph)
        node = node.parent
    return in_paragraph
