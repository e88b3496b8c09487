"""The HTTP API of Prometheus, which VictoriaMetrics, Thanos and Mimir have too."""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from stackmap.errors import (
    CaptureError,
    ParseError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceTimeout,
    UsageError,
)
from stackmap.features.fleet import http_config
from stackmap.host.background import ThreadedAnswer
from stackmap.host.budget import Budget, json_size, refuse_large

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

Data = TypeVar("Data")

# Bytes of all answers of a run; 40,000 volumes take 90 MB.
MOST = 112 << 20
# Bytes that are made of one answer, at least: of a vector, of 16,000 volumes, of which four are kept at a time;
# of a matrix, the counters of 1,600 devices. The answer itself has at most half as many.
OF_VECTOR, OF_MATRIX = 16 << 20, 160 << 20
SERIES_BYTES = 400  # that a series takes which is read as text; later, its labels
# What servers write before the labels, before the value and after it. No label contains it: its quotes are escaped.
LABELS, VALUE, END = '{"metric":', ',"value":[', '"]}'
LATER = "; the server or its proxy is down or busy: ask again later"
# By the status of an answer without JSON.
HINTS = {
    200: "; is this the address of the API, or of a login page?",
    404: "; is this the address of the API? Mimir's ends in /prometheus",
    **dict.fromkeys((429, 502, 503, 504), LATER),
}
ADVICE = "use --host or --limit, or a shorter --window"
PIECE = 1 << 18
# Nothing compressed is asked for. What a server compresses all the same is unpacked to so many bytes.
IDENTITY = "identity"
ENCODINGS = ("gzip", "x-gzip", "deflate")
MOST_UNPACKED = 1 << 24
WINDOW = 47  # zlib's wbits: the largest window, the heading of gzip or of zlib
REDIRECTS = 5
KEEPING = (307, 308)  # statuses of redirects with which a request stays a POST
PORTS = {"http": 80, "https": 443}
GRACE = 0.5  # seconds after the timeout in which the server may still give its own reason
QUOTED = 200  # characters of the server's message
LARGEST = 1e21  # what is larger, or no number, is no figure: a counter ends at 2 ** 64


class Sample(NamedTuple):
    """The value of a series at the instant that was asked for."""

    labels: Mapping[str, str]
    value: float


class Series(NamedTuple):
    """A series over time: its labels, and instants (seconds since the epoch) with values."""

    labels: Mapping[str, str]
    values: tuple[tuple[float, float], ...]


class Prometheus:
    """
    A server. ``warnings``: its own, on incomplete answers. ``budget``: what its answers may take.

    Each request takes at most *timeout* seconds; errors are ``SourceError``.
    """

    def __init__(self, url: str, config: http_config.HttpConfig, timeout: float) -> None:
        try:
            import requests
        except ImportError as error:
            raise SourceMissing(http_config.NEEDED) from error
        parts = _split(url)
        self._base = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        basic = config.basic
        if parts.username is not None and basic is None:
            basic = unquote(parts.username), unquote(parts.password or "")
        self.url = self._base
        self.warnings: dict[str, None] = {}
        self.budget = Budget(self._base, MOST, ADVICE)
        self._parsing = threading.Lock()  # queries are asked a few at a time
        self._timeout = timeout
        self._session = requests.Session()
        self._session.headers.update({**config.headers, "Accept-Encoding": IDENTITY})
        # With an authentication of its own, requests does not look into ~/.netrc.
        # It encodes text as Latin-1; servers expect UTF-8, as promtool sends it.
        self._session.auth = (
            requests.auth.HTTPBasicAuth(basic[0].encode(), basic[1].encode())
            if basic
            else _with_header(config.authorization)
        )
        self._verify, self._certificate = config.verify, config.certificate
        if config.verify is False:  # insecure_skip_verify: its user knows
            from urllib3 import disable_warnings

            disable_warnings()
        elif not config.x509_strict:
            http_config.accept_lax_certificates(self._session)
        self._proxies = {"http": config.proxy, "https": config.proxy} if config.proxy else None
        self._redirects = config.follow_redirects

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """Return the vector that *expression* is at an instant, by default now."""
        return self._ask(
            "query", _instant(expression, at), OF_VECTOR, partial(self._samples, expression)
        )

    def values(
        self,
        expression: str,
        at: float,
        known: dict[str, Data],
        made: Callable[[Mapping[str, str]], Data],
    ) -> list[tuple[Data, float]]:
        """
        Return each value of the vector with what is *made* of its labels.

        *known*: what was made of earlier vectors, by the labels as text: equal labels are read once.
        """

        def read(status: int, content: bytearray, most: int) -> list[tuple[Data, float]]:
            try:
                first, texts, values = _series(self._text(content, most), self.url, most)
                new = [text for text in texts if text not in known]
                labels = _checked(json.loads(f"[{','.join(new)}]"))
                owners = dict(zip(new, map(made, labels), strict=True))
            except (ValueError, TypeError, RecursionError):  # none, or written in another way
                samples = self._samples(expression, status, content, most)
                return [(made(sample.labels), sample.value) for sample in samples]
            self._samples(expression, status, first, most)
            self.budget.charge(SERIES_BYTES * len(new))
            known.update(owners)
            return [
                (known[text], value)
                for text, value in zip(texts, values, strict=True)
                if abs(value) < LARGEST
            ]

        return self._ask("query", _instant(expression, at), OF_VECTOR, read)

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Series]:
        """Return the values of *expression* from *start* to *end*, one per *step* seconds."""
        given = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        data = self._ask("query_range", {"query": expression, **given}, OF_MATRIX, self._data)
        if data.get("resultType") != "matrix":
            raise ParseError(f"{self.url}: not a matrix: {expression[:QUOTED]}")
        return [
            Series(_labels(series), _figures(series.get("values"))) for series in data["result"]
        ]

    def _ask(
        self,
        path: str,
        form: Mapping[str, str],
        most: int,
        read: Callable[[int, bytearray, int], Data],
    ) -> Data:
        """Return the result of *read* on the status and the body of an answer; it takes at most *most* bytes."""
        import requests
        import urllib3

        slow = f"{self.url}: no answer in {self._timeout:g} s; try a shorter --window, --host, or --timeout"
        try:
            status, content = self._in_time(path, form, most // 2)
            with self._parsing:
                self.budget.step(len(content))
                return read(status, content, most)
        except requests.exceptions.SSLError as error:
            reason = http_config.tls_reason(_innermost(error), _reason(error))
            raise SourceError(f"{self.url}: TLS failed: {reason}") from error
        except (requests.exceptions.Timeout, TimeoutError) as error:
            raise SourceTimeout(slow) from error
        except requests.exceptions.ConnectionError as error:
            raise SourceMissing(f"{self.url}: no connection: {_reason(error)}") from error
        except urllib3.exceptions.TimeoutError as error:  # while the body is read
            raise SourceTimeout(slow) from error
        except (
            requests.exceptions.RequestException,
            urllib3.exceptions.HTTPError,
            zlib.error,
        ) as error:
            raise SourceError(f"{self.url}: {_reason(error)}") from error
        except OSError as error:  # a CA file or certificate that cannot be read
            raise SourceMissing(f"{self.url}: {_reason(error)}") from error

    def _in_time(self, path: str, form: Mapping[str, str], most: int) -> tuple[int, bytearray]:
        """Return the status and the body; a socket's own timeout starts again with each byte."""
        answer = ThreadedAnswer(lambda: self._post(path, form, most))
        if not answer.ready(self._timeout + GRACE):
            raise TimeoutError
        return answer.result()

    def _post(self, path: str, form: Mapping[str, str], most: int) -> tuple[int, bytearray]:
        deadline = time.monotonic() + self._timeout
        address = f"{self._base}/api/v1/{path}"
        for _ in range(REDIRECTS):
            with self._sent(address, form) as response:
                location = response.headers.get("Location")
                if response.status_code // 100 != 3 or location is None or not self._redirects:
                    return response.status_code, _content(response, deadline, most)
                address = self._redirected(address, location, response.status_code)
        raise SourceError(f"{self.url}: more than {REDIRECTS} redirects")

    def _sent(self, address: str, form: Mapping[str, str]) -> Response:
        """
        Return the answer, its body unread.

        Not by ``Session.post``: that reads the body of a redirect whole, unpacks it without a limit, and
        follows it to any host, with the headers that were configured for this one.
        """
        import requests

        session = self._session
        data = {**form, "timeout": f"{self._timeout:g}s"}
        request = session.prepare_request(requests.Request("POST", address, data=data))
        settings = session.merge_environment_settings(
            address, self._proxies or {}, stream=True, verify=self._verify, cert=self._certificate
        )
        adapter = session.get_adapter(address)
        return adapter.send(request, timeout=self._timeout, **settings)  # type: ignore[arg-type]  # verify is not None

    def _redirected(self, address: str, location: str, status: int) -> str:
        """Return where a redirect leads; refused if that is another origin, or a GET without the query."""
        try:
            target = urljoin(address, location)
            parts = urlsplit(target)
            there = (parts.scheme, parts.hostname, parts.port or PORTS[parts.scheme])
        except (ValueError, KeyError):
            raise SourceError(f"{self.url}: the server redirects to no address of HTTP") from None
        shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        shown = shown.partition("/api/v1/")[0][:QUOTED]
        asked = urlsplit(self._base)
        if there != (asked.scheme, asked.hostname, asked.port or PORTS[asked.scheme]):
            raise SourceError(
                f"{self.url}: the server redirects to another origin, {shown};"
                " if you trust it, give that as --url"
            )
        if status not in KEEPING:
            raise SourceError(f"{self.url}: the server redirects to {shown}; give that as --url")
        return target

    def _samples(self, asked: str, status: int, content: bytearray, most: int) -> list[Sample]:
        data = self._data(status, content, most)
        if data.get("resultType") != "vector":
            raise ParseError(f"{self.url}: not a vector: {asked[:QUOTED]}")
        return _vector(data["result"])

    def _text(self, content: bytearray, most: int) -> str:
        refuse_large(self.url, len(content) * (1 if content.isascii() else 4), most)
        return content.decode()

    def _data(self, status: int, content: bytearray, most: int) -> dict[str, Any]:
        if status in (401, 403):
            said = content[:QUOTED].decode(errors="replace").strip()
            said = f" ({said})" if said.isprintable() and said and "<" not in said else ""
            raise SourceDenied(
                f"{self.url}: HTTP {status}: wrong or missing credentials{said}; see --http-config"
            )
        try:
            text = self._text(content, most)
            refuse_large(self.url, 2 * len(text) + json_size(text), most)
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            hint = HINTS.get(status, "")
            raise ParseError(f"{self.url}: HTTP {status} without JSON{hint}") from error
        if not isinstance(answer, dict) or answer.get("status") != "success":
            given = answer if isinstance(answer, dict) else {}
            said = str(given.get("error", ""))[:QUOTED] or "no reason given"
            late = given.get("errorType") == "timeout"  # its limit is the same as ours
            raise (SourceTimeout if late else SourceError)(f"{self.url}: HTTP {status}: {said}")
        data = answer.get("data")
        if not isinstance(data, dict) or not isinstance(data.get("result"), list):
            raise ParseError(f"{self.url}: an answer of unknown form")
        for place in (answer, data):  # some versions of Thanos have them in data
            told = place.get("warnings") or []
            self.warnings.update(
                dict.fromkeys(map(str, told if isinstance(told, list) else [told]))
            )
        if answer.get("isPartial"):  # VictoriaMetrics' cluster
            self.warnings["the server's answer is partial"] = None
        return data


def _with_header(value: str) -> Callable[[PreparedRequest], PreparedRequest]:
    def authorize(request: PreparedRequest) -> PreparedRequest:
        if value:
            request.headers["Authorization"] = value
        return request

    return authorize


def _content(response: Response, deadline: float, most: int) -> bytearray:
    """Return the body, within time and size."""
    encoding = response.headers.get("Content-Encoding", IDENTITY).strip().lower() or IDENTITY
    if encoding not in (IDENTITY, *ENCODINGS):
        raise SourceError(
            f"the server's answer has the encoding {encoding[:QUOTED]!r}; {IDENTITY} was asked for"
        )
    most = most if encoding == IDENTITY else min(most, MOST_UNPACKED)
    content = bytearray()
    for piece in _pieces(response, encoding):
        content += piece
        if len(content) > most:
            raise CaptureError(f"the server's answer is too large; {ADVICE}")
        if time.monotonic() > deadline:
            raise TimeoutError
    return content


def _pieces(response: Response, encoding: str) -> Iterator[bytes]:
    """
    Yield the body, unpacked, at most ``PIECE`` bytes at a time.

    urllib3 would apply as many encodings as the server names, each without a limit (before 2.6), and reads
    the heading of a chunk without a limit; ``read`` leaves chunks to ``http.client``.
    """
    read = response.raw.read
    if encoding == IDENTITY:
        while piece := read(PIECE, decode_content=False):
            yield piece
        return
    unpacking = zlib.decompressobj(WINDOW)
    while not unpacking.eof and (packed := read(PIECE, decode_content=False)):
        while packed and not unpacking.eof:
            yield unpacking.decompress(packed, PIECE)
            packed = unpacking.unconsumed_tail
    if not unpacking.eof:
        raise SourceError("the server's answer is cut short")


def _instant(expression: str, at: float | None) -> dict[str, str]:
    return {"query": expression, **({} if at is None else {"time": f"{at:.3f}"})}


def _series(text: str, url: str, most: int) -> tuple[bytearray, list[str], list[float]]:
    """
    Return a vector with its first series only, and of all series the labels as text and the values.

    ``ValueError`` unless all are written in the same way, with the instant of the first, without blanks.
    """
    begin = text.index(LABELS)
    value = text.index(VALUE, begin)
    middle = text[value : text.index(",", value + len(VALUE))] + ',"'
    refuse_large(url, 2 * len(text) + SERIES_BYTES * text.count(middle), most)
    first, *pieces = text[begin + len(LABELS) :].split(middle)
    last, _, after = pieces.pop().partition(END) if pieces else ("", "", "")
    before = text[:begin]
    if not (before.endswith('"result":[') and after.startswith("]")):
        raise ValueError(text[:QUOTED])
    pairs = [piece.split(f"{END},{LABELS}") for piece in pieces]
    numbers = [*[number for number, _ in pairs], last]
    one = f"{before}{LABELS}{first}{middle}{numbers[0]}{END}{after}"
    return (
        bytearray(one.encode()),
        [first, *[labels for _, labels in pairs]],
        [*map(float, numbers)],
    )


def _vector(result: list[Any]) -> list[Sample]:
    """Return the series of a vector that have a figure; ``ParseError`` unless each has text labels and a pair."""
    try:  # a list for each step: there are 100,000s
        labels = _checked([series["metric"] for series in result])
        values = [float(text) for _, text in [series["value"] for series in result]]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ParseError("a series of unknown form in the server's answer") from error
    both = zip(labels, values, strict=True)
    return [Sample(owner, value) for owner, value in both if abs(value) < LARGEST]


def _checked(labels: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return *labels* as they came; ``TypeError`` unless all are text."""
    "".join(chain.from_iterable(map(dict.values, labels)))
    return labels


def _labels(series: Any) -> dict[str, str]:
    """Return the labels as they came; ``ParseError`` unless all are text."""
    try:
        labels: dict[str, str] = series["metric"]
        "".join(labels.values())  # raises unless all are text; there are 100,000s
    except (KeyError, TypeError, AttributeError) as error:
        raise ParseError("a series of unknown form in the server's answer") from error
    return labels


def _figures(pairs: Any) -> tuple[tuple[float, float], ...]:
    """Return the instants with a figure; ``ParseError`` unless all are pairs of numbers."""
    try:
        figures = [(float(instant), float(value)) for instant, value in pairs]
    except (TypeError, ValueError, OverflowError) as error:
        raise ParseError("a value of unknown form in the server's answer") from error
    return tuple([pair for pair in figures if abs(pair[1]) < LARGEST])


def _split(url: str) -> SplitResult:
    """Return the parts of *url*; ``UsageError`` if it is none, without what may be a password."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, a bracket without its pair
        valid = False
    if not valid or parts.query or parts.fragment:
        shown = repr(url.rpartition("@")[2])
        raise UsageError(f"--url must be http://HOST:PORT or https://…, not {shown}")
    return parts


def _innermost(error: Exception) -> BaseException:
    """Return the exception below *error* that has the reason of a failure."""
    inner: BaseException = error
    while inner.args and isinstance(inner.args[-1], BaseException):
        inner = inner.args[-1]
    reason = getattr(inner, "reason", None)
    return reason if isinstance(reason, BaseException) else inner


def _reason(error: Exception) -> str:
    """Return the innermost reason of a failure, in a line."""
    inner = _innermost(error)
    text = re.sub(r"^<?\w*Connection.*?[>)]: ", "", str(inner))
    return " ".join(text.split())[:QUOTED] or type(inner).__name__
