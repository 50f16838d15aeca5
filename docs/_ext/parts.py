"""Plain stand-ins for the parts of lessons, until the extension has them."""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.directives.other import TocTree
from sphinx.util.docutils import SphinxDirective, SphinxRole


class Box(SphinxDirective):
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        title = self.arguments[0] if self.arguments else self.name.removeprefix("lesson-").title()
        inline, messages = self.state.inline_text(title, self.lineno)
        box = nodes.admonition("", nodes.title(title, "", *inline), classes=[self.name])
        box += self.parse_content_to_nodes()
        return [box, *messages]


class Auto(SphinxRole):
    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [], []


def setup(app: Any) -> dict[str, Any]:
    for part in ("goal", "predict", "check", "checklist"):
        app.add_directive(f"lesson-{part}", Box)
    app.add_directive("lesson-path", TocTree)
    app.add_role("lesson-auto", Auto())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
