"""A server that answers as a test wants, and ``stackmap fleet`` asking it."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import StackmapError

INFO = {"job": "n", "instance": "h1", "top": "dm-8", "name": "vg/lv"}
DOUBT = r"unless|without_counters|> 1$|exported_|node_boot_time"  # questions for hosts of which something is wrong
HOST = "group by (cluster, job, instance) (instance_level"
INFOS = "max by (cluster, job, instance, top, name, kind, level, uuid, shared)"
BROKEN = {"job": "n", "instance": "h1", "what": "degraded", "device": "dm-8", "name": "vg/lv"}
BEGAN = 1795257542  # seconds since the epoch: when it broke
LEVEL = {"kind": "volume", "level": "raid5"}


def vector(*series):
    return {
        "status": "success",
        "data": {
            "resultType": "vector",
            "result": [
                {"metric": {**labels}, "value": [1, str(value)]} for labels, value in series
            ],
        },
    }


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Print nothing: in some tests the client closes the connection."""


@contextlib.contextmanager
def serving(answer, context=None):
    """Serve what *answer* returns for each query: status, and JSON or text; *context*: over TLS."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append((form["query"][0], dict(self.headers)))
            status, body = answer(form["query"][0])
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            with contextlib.suppress(OSError):
                self.send_response(status)
                if 300 < status < 310:
                    self.send_header("Location", str(body))
                self.end_headers()
                self.wfile.write(content)

        def do_GET(self):
            self.send_error(400)

        def log_message(self, *_):
            """Print nothing."""

    with QuietServer(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def ask(url, *words):
    return CliRunner().invoke(stackmap, ["fleet", "--url", url, *words])


def failure(url, *words):
    """Return the message of the error."""
    result = ask(url, *words)
    assert isinstance(result.exception, StackmapError), result.output
    (line,) = result.exception.lines
    assert "\n" not in line
    return line


def small_fleet(query, volumes=1):
    """Answer as a server with one volume on one host, which lacks a member."""
    if re.search(DOUBT, query) or "last_over_time" in query:
        return 200, vector()
    if query.startswith("instance_device:stackmap_trouble:"):
        return 200, vector((BROKEN, BEGAN if "since" in query else 1))
    if query.startswith(HOST):
        return 200, vector(({"job": "n", "instance": "h1"}, 1))
    if 'shared="1"' in query:
        return 200, vector()
    if re.match(r"(sum|count) by \(kind, level\)", query):
        return 200, vector((LEVEL, volumes if "volumes:count" in query else 2e6))
    if query.startswith(INFOS):
        return 200, vector(({**INFO, **LEVEL}, 1))
    if "slowest" in query:
        return 200, vector(({**INFO, "device": "dm-5"}, 4))
    return 200, vector((INFO, 2e6))
