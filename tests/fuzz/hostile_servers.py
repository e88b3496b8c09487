"""Servers that answer ``fleet`` with anything: each ends in one line, within the limits of time and memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import socket
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat
from pathlib import Path

from tests.fuzz.running import Outcome, Tally, beside, run

Parts = Iterator[bytes]
Answer = Callable[[], Parts]

BLOCK = 1 << 16
ZEROS = bytes(10 << 20)


def answer(
    body: bytes | Callable[[], bytes], *headers: str, status: str = "200 OK", closed: bool = True
) -> Answer:
    """Return an answer with *headers*; *body*: a function if it takes long to make; *closed*: with its length."""

    @cache
    def whole() -> bytes:
        content = body() if callable(body) else body
        length = [f"Content-Length: {len(content)}"] if closed else []
        heading = "\r\n".join([f"HTTP/1.1 {status}", *headers, *length, "", ""])
        return heading.encode("latin-1") + content

    return lambda: iter([whole()])


def endless(heading: bytes, part: bytes) -> Answer:
    """Return an answer that begins with *heading* and has no end."""
    return lambda: _chained(heading, repeat(part))


def _chained(heading: bytes, parts: Iterator[bytes]) -> Parts:
    yield heading
    yield from parts


def redirect(
    location: str,
    status: str = "307 Go",
    body: bytes | Callable[[], bytes] = b"",
    *headers: str,
) -> Answer:
    """Return a redirect."""
    return answer(body, f"Location: {location}", *headers, status=status)


def vector(series: bytes, count: int) -> bytes:
    """Return an answer with *count* times *series*."""
    rows = b",".join([series] * count)
    return b'{"status":"success","data":{"resultType":"vector","result":[%b]}}' % rows


@cache
def twice() -> bytes:
    """Return 100 MB of zeros, compressed twice."""
    return gzip.compress(gzip.compress(ZEROS * 10))


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ENCODED = "Content-Encoding: gzip"
PAIR = b'{"metric":{"job":"n","instance":"h%d"},"value":[1763732400,"1"]}'
# What ``fleet`` must refuse or fail at, and the words that it says.
ATTACKS: dict[str, tuple[Answer, str]] = {
    "another origin": (redirect("http://127.0.0.1:1/api/v1/query"), "another origin, http://127.0.0.1:1;"),
    "another scheme": (redirect("https://127.0.0.1/api/v1/query"), "another origin, https://127.0.0.1;"),
    "a password in it": (redirect("http://u:hunter2@127.0.0.1:1/"), "another origin, http://127.0.0.1:1/;"),
    "no address": (redirect("http://[::1"), "no address of HTTP"),
    "a port too large": (redirect("http://127.0.0.1:99999/"), "no address of HTTP"),
    "a script": (redirect("javascript:alert(1)"), "no address of HTTP"),
    "a file": (redirect("file:///etc/passwd"), "no address of HTTP"),
    "a circle": (redirect("/api/v1/query"), "more than 5 redirects"),
    "a redirect as a bomb": (redirect("/x", "307 Go", twice, "Content-Encoding: gzip, gzip"), "more than 5 redirects"),
    "a redirect without an end": (endless(b"HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\n\r\n", ZEROS), "another origin"),
    "two encodings": (answer(twice, "Content-Encoding: gzip, gzip"), "encoding 'gzip, gzip'"),
    "five encodings": (answer(twice, "Content-Encoding: " + ", ".join(["gzip"] * 5)), "encoding 'gzip, gzip"),
    "the same header twice": (answer(twice, ENCODED, ENCODED), "encoding 'gzip, gzip'"),
    "another encoding": (answer(b"x", "Content-Encoding: br"), "encoding 'br'"),
    "a bomb": (answer(lambda: gzip.compress(ZEROS * 30), ENCODED), "too large"),
    "a bomb as deflate": (answer(lambda: zlib.compress(ZEROS * 30), "Content-Encoding: deflate"), "too large"),
    "half a stream": (answer(gzip.compress(ZEROS)[:3000], ENCODED), "cut short"),
    "no stream": (answer(b"{}" * 30, ENCODED), "incorrect header check"),
    "a page": (answer(b"<html>", "Content-Type: text/html"), "HTTP 200 without JSON"),
    "no end": (endless(OK + b"\r\n", ZEROS), "too large"),
    "no end of a chunk": (endless(CHUNKED + b"fffffffff\r\n", ZEROS), "too large"),
    "no end of a chunk's heading": (endless(CHUNKED, b"1" * BLOCK), ""),
    "no end of a header": (endless(OK + b"X: ", b"x" * BLOCK), ""),
    "no end of headers": (endless(OK, b"X: x\r\n" * 1000), ""),
    # Python 3.14 ends it after 100 of them, older ones at the time limit.
    "no end of continuing": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), "no "),
    "less than its length": (lambda: iter([OK + b"Content-Length: 99\r\n\r\n{"]), ""),
    "two lengths": (lambda: iter([OK + b"Content-Length: 9\r\nContent-Length: 7\r\n\r\n123456789"]), ""),
    "no HTTP": (lambda: iter([b"\0" * 4096]), ""),
    "10 MB": (answer(lambda: vector(b"[]", 10 << 20 >> 1)), "too large"),
    "7 MB of lists": (answer(lambda: vector(b"[]", 7 << 20 >> 2)), "one answer needs"),
    "7 MB of objects": (answer(lambda: vector(b'{"":0}', 7 << 20 >> 3)), "one answer needs"),
    "7 MB deep": (answer(lambda: b"[" * (7 << 20)), "one answer needs"),
    "7 MB of digits": (answer(lambda: vector(b"1" * (7 << 20), 1)), "without JSON"),
    "7 MB with a letter of four bytes": (answer(lambda: vector(b'"%b\xf0\x9f\x92\xbe"' % (b"x" * (7 << 20)), 1)), "one answer needs"),
}  # fmt: skip
# The same volumes on each page of hosts: too much in all, after many queries.
REPEATED = answer(
    lambda: vector(b",".join(b'{"metric":{"job":"n","instance":"h%d","top":"dm-%d","name":"v%d","level":"raid5"},"value":[1,"1"]}' % (n, n, n) for n in range(5000)), 1)
)  # fmt: skip
SECONDS = "2"  # per query
ENCODINGS = ("gzip", "deflate", "gzip, gzip", "GZIP ", "", ",")
LOCATIONS = ("", "//", "/x", "?", "//[", "http:", "\xff", "http://a b/")
STATUSES = ("200 OK", "200 OK", "200", "500 x", "302 y", "307 z", "308 z", "999 q", "-1 x")


@contextlib.contextmanager
def serving(parts: Answer) -> Iterator[str]:
    """Serve *parts* to everyone, from another process; yield the address."""
    next(parts())  # is made before it is asked for
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, beside(lambda: _serve(listener, parts)):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _serve(listener: socket.socket, parts: Answer) -> None:
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            if _asked(connection):
                for part in parts():
                    connection.sendall(part)


def _asked(connection: socket.socket) -> bool:
    """Read a request; return whether there was one."""
    request = b""
    while b"\r\n\r\n" not in request:
        part = connection.recv(BLOCK)
        if not part:
            return False
        request += part
    head, _, body = request.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += connection.recv(BLOCK)
    return True


def asked(url: str) -> Outcome:
    """Return what becomes of ``fleet``, asking the server at *url*."""
    return run(("fleet", "--url", url, "--timeout", SECONDS))


def named(tally: Tally, folder: Path) -> None:  # noqa: ARG001 - nothing is written
    """Each of ``ATTACKS``, and ``REPEATED``."""
    repeated = {"many answers": (REPEATED, "too much to follow or to read")}
    for what, (parts, words) in (ATTACKS | repeated).items():
        with serving(parts) as url:
            outcome = asked(url)
        faults = outcome.faults(frozenset({1}))
        if words not in outcome.err or outcome.err.count("\n") != 1 or "hunter2" in outcome.err:
            faults.append(f"said {outcome.err[:200]!r}")
        tally.case(what, faults, outcome)


def answers(tally: Tally, chance: random.Random, folder: Path) -> None:  # noqa: ARG001 - nothing is written
    """One case: a random answer of up to 10 MB, or one of ``ATTACKS``."""
    piece = chance.choice(
        (PAIR, b"[]", b"{}", b'{"a":[]}', b'"x"', b"1e308", b"[[[[]]]]", b"null", b'{"%d":"%d"}')
    )
    count = chance.choice((1, 10, 1000, (10 << 20) // (len(piece) + 1)))
    rows = (piece.replace(b"%d", str(number).encode()) for number in range(count))
    body = vector(b",".join(rows)[: 10 << 20], 1)
    if chance.random() < 0.3:
        place = chance.randrange(len(body))
        body = body[:place] + chance.randbytes(chance.randrange(9)) + body[place + 1 :]
    if chance.random() < 0.3:
        body = json.dumps(body.decode("latin-1")).encode()
    headers = []
    if chance.random() < 0.4:
        body = chance.choice((gzip.compress, zlib.compress))(body)
        headers.append("Content-Encoding: " + chance.choice(ENCODINGS))
    if chance.random() < 0.3:
        headers.append("Location: " + chance.choice(LOCATIONS))
    status = chance.choice(STATUSES)
    what, parts = (
        f"{status} {headers} {piece!r} * {count}",
        answer(body, *headers, status=status, closed=chance.random() < 0.8),
    )
    if chance.random() < 0.2:
        what = chance.choice([*ATTACKS])
        parts, _ = ATTACKS[what]
    with serving(parts) as url:
        outcome = asked(url)
    tally.case(what, outcome.faults(), outcome)
    tally.took(f"server: {what}", outcome)
