"""The page of `mur topology`: one file with its data and its graph library inlined.

spec/observability.md 13; design/decisions.md 12: it works without a network. The markup stands in
`topology.html`; the build puts `vis-network.min.js`, of the pinned npm package, beside it.
"""

import html
import json
from importlib.resources import files
from typing import Final

from murmur.core.diagnostics import error
from murmur.topology.graph import Graph

LIBRARY: Final = "vis-network.min.js"


def page(graph: Graph, window: str) -> str:
    """The whole page. Raises E-IO-003 when the graph library is not beside this module."""
    here = files("murmur.topology")
    try:
        library = here.joinpath(LIBRARY).read_text(encoding="utf-8")
    except OSError as failure:
        hint = "the build puts it there; outside Bazel run tools/dev/fetch_graph_library.sh"
        raise error("E-IO-003", what=LIBRARY, reason=failure.strerror or "", hint=hint) from None
    count = len(graph.nodes)
    parts = {
        "@LIBRARY@": library.replace("</script", "<\\/script"),
        "@DATA@": _embedded(graph),
        "@WINDOW@": html.escape(window),
        "@COUNT@": f"{count} session{'' if count == 1 else 's'}",
    }
    text = here.joinpath("topology.html").read_text(encoding="utf-8")
    head, _, rest = text.partition("@LIBRARY@")
    # The library is put in last, so that nothing inside it is taken for a mark.
    for mark in ("@DATA@", "@WINDOW@", "@COUNT@"):
        head, rest = head.replace(mark, parts[mark]), rest.replace(mark, parts[mark])
    return head + parts["@LIBRARY@"] + rest


def _embedded(graph: Graph) -> str:
    """JSON that cannot end the script that it stands in."""
    text = json.dumps(graph.as_json(), ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
