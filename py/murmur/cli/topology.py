"""`mur topology`: capsule sessions in a Tempo, drawn as a graph on a page of its own.

CLI reference, *mur topology*; spec/observability.md 13.
"""

import http.server
import os
import time
import webbrowser
from pathlib import Path

import click

from murmur.cli.output_file import write_output
from murmur.core.diagnostics import error
from murmur.core.streams import complain, emit


@click.command("topology")
@click.option(
    "--otel-endpoint",
    envvar="MURMUR_OTEL_ENDPOINT",
    required=True,
    metavar="URL",
    help="Tempo's query API, such as http://localhost:3200 [env: MURMUR_OTEL_ENDPOINT].",
)
@click.option(
    "--window", default="1h", metavar="DURATION", help="How far back to look [default: 1h]."
)
@click.option("--output", metavar="PATH", help="Write the page to PATH and open no browser.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="PORT", help="Serve the page on 127.0.0.1."
)
def command(otel_endpoint: str, window: str, output: str | None, port: int | None) -> None:
    """Render capsule sessions as a DAG from Grafana Tempo OTel data."""
    text = _page(otel_endpoint, window)
    if port is not None:
        _serve(text, port)
    elif output is not None:
        write_output(Path(output), text)
        emit(f"murmur: topology written to {output}")
    else:
        path = Path(f"/tmp/murmur-topology-{int(time.time())}.html")
        write_output(path, text)
        emit(f"murmur: opening topology at {path}")
        webbrowser.open(path.as_uri())


def _page(endpoint: str, window: str) -> str:
    """Raises E-TOP-001, E-TOP-002, E-TOP-003."""
    from murmur.topology.graph import build_graph
    from murmur.topology.page import page
    from murmur.topology.tempo import NO_TRACES, fetch, tempo, window_seconds

    seconds = window_seconds(window)
    source = tempo(endpoint)
    source.ready()
    version = source.version()
    if version is not None:
        complain(f"murmur: Tempo {version}")
    end = int(time.time())
    traces = fetch(source, end - seconds, end, lambda text: complain(f"murmur: warning: {text}"))
    graph = build_graph(traces)
    if not graph.nodes:
        complain(f"murmur: {NO_TRACES}")
    return page(graph, window)


def _serve(text: str, port: int) -> None:
    """Serves the page until Ctrl+C. Raises E-IO-003 when the port cannot be bound."""
    data = text.encode()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data) if found else 0))
            self.end_headers()
            if found:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Requests are nobody's business."""

    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=f"127.0.0.1:{port}", reason=reason, hint="") from None
    with server:
        url = f"http://127.0.0.1:{server.server_port}"
        complain(f"murmur: serving topology at {url}  (Ctrl+C to stop)")
        webbrowser.open(url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            os.write(2, b"\n")
