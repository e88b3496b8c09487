"""A server that fails or is hostile leads to one clear line, never to a traceback or a silent gap."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time

import pytest
from click.testing import CliRunner

from stackmap.cli import main, stackmap
from stackmap.features.fleet.volumes import SORTS
from tests.features.fleet.stub import (
    BEGAN,
    BROKEN,
    HOST,
    INFOS,
    ask,
    failure,
    serving,
    small_fleet,
    vector,
)


def test_a_server_that_is_down():
    assert "refused" in failure("http://127.0.0.1:9")


def test_a_server_that_is_slow():
    def slow(_):
        time.sleep(1.6)
        return 200, vector()

    with serving(slow) as (url, _):
        assert failure(url, "--timeout", "1").startswith(f"{url}: no answer in 1 s")


@pytest.mark.parametrize("start", ["Content-Length: 99999\r\n\r\n", "\r\n", "X-Long: "])
def test_a_server_that_trickles(start):
    """One byte at a time, in the body or the header, does not extend the time limit."""
    done = threading.Event()

    def trickle():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(f"HTTP/1.1 200 OK\r\n{start}".encode())
            while not done.wait(0.3):
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle)
        thread.start()
        begun = time.monotonic()
        said = failure(f"http://127.0.0.1:{listener.getsockname()[1]}", "--timeout", "1")
        seconds = time.monotonic() - begun
        done.set()
        thread.join()

    assert "no answer in 1 s" in said
    assert seconds < 10


LATE = {"status": "error", "errorType": "timeout", "error": "query timed out"}
LARGE = {"status": "error", "errorType": "execution", "error": "too many samples"}


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, LATE, "HTTP 503: query timed out"),
        (422, LARGE, "HTTP 422: too many samples"),
        (502, "<html>", "HTTP 502 without JSON; the server or its proxy is down or busy"),
        (200, "", "HTTP 200 without JSON; is this the address of the API, or of a login page?"),
    ],
)
@pytest.mark.parametrize("what", ["max by .*disk_requests", "group by .*node_boot_time.* unless"])
def test_a_query_that_fails_makes_it_partial(what, status, body, said):
    """One figure of the volumes, or one doubt about hosts; all others are shown."""
    with serving(lambda q: (status, body) if re.match(f".*{what}", q) else small_fleet(q)) as (
        url,
        _,
    ):
        result = ask(url, "-J")
    report = json.loads(result.stdout)
    (volume,) = report["volumes"]

    assert result.exit_code == 64
    assert [said in each for each in report["partial"]] == [True]
    assert volume["write_bytes"] == 2e6
    assert (volume["raid10_saves_requests"] is None) == ("disk" in what)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_drops_the_query_is_named(status):
    """Browsers and HTTP libraries follow these with a GET, without the query."""
    with serving(lambda _: (status, "/prom/api/v1/query")) as (url, _):
        said = failure(url)

    assert said == f"{url}: the server redirects to {url}/prom; give that as --url"


@pytest.mark.parametrize("status", [401, 403])
def test_wrong_credentials(status):
    with serving(lambda _: (status, "no")) as (url, _):
        assert f"HTTP {status}: wrong or missing credentials" in failure(url)


def test_another_server():
    with serving(lambda _: (404, "<html>")) as (url, _):
        assert "is this the address of the API?" in failure(url)


def test_an_answer_that_is_too_large(monkeypatch):
    """It is read no further than its limit."""
    monkeypatch.setattr("stackmap.features.fleet.http.OF_VECTOR", 4000)
    with serving(lambda _: (200, vector(*[({"instance": "h1"}, 1)] * 1000))) as (url, asked):
        assert "answer is too large" in failure(url)
    assert len(asked) == 1


def test_the_server_says_why():
    with serving(lambda _: (422, {"status": "error", "error": "too many samples\x1b[2J"})) as (
        url,
        _,
    ):
        assert "HTTP 422: too many samples" in failure(url)


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{}",
        '{"status":"success"}',
        '{"status":"success","data":{"resultType":"vector","result":[7]}}',
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":["x"]}]}}',
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{}]}]}}',
        f'{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":[1,1{"0" * 400}]}}]}}}}',
        "[" * 200_000,
    ],
)
def test_an_answer_of_another_form(body):
    with serving(lambda _: (200, body)) as (url, _):
        assert failure(url)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e308", 10**25])
def test_what_is_no_figure_is_unknown(value):
    """No sum or product of it is printed, and JSON has no Infinity."""

    def answer(query):
        status, body = small_fleet(query)
        if "written_bytes" in query and query.startswith("max"):
            body["data"]["result"][0]["value"][1] = value
        return status, body

    with serving(answer) as (url, _):
        result = ask(url, "-J")
    (volume,) = json.loads(result.stdout, parse_constant=pytest.fail)["volumes"]

    assert volume["write_bytes"] is None
    assert volume["cost_bytes_per_byte"] is None
    assert volume["read_bytes"] == 2e6


def test_unknown_waste_is_no_dash_per_second():
    """During a resync of the only array nothing is known of it."""
    with serving(lambda q: (200, vector()) if "wasted" in q else small_fleet(q)) as (url, _):
        table, page = ask(url), ask(url, "--report", "-", "-m")

    assert "1 volume on 1 host; their waste at the disks is unknown" in table.stdout
    assert "-/s" not in table.stdout + page.stdout


@pytest.mark.parametrize("said", [7, "a store did not answer", {"a": 1}])
def test_warnings_of_another_form_are_said(said):
    with serving(lambda query: (200, {**small_fleet(query)[1], "warnings": said})) as (url, _):
        result = ask(url, "-J")

    assert result.exit_code == 64
    assert f"the server warns: {said}" in json.loads(result.stdout)["partial"]


def test_no_rules_and_no_hosts():
    with serving(lambda q: (200, vector(({}, 1)) if "stack_info" in q else vector())) as (url, _):
        assert "load stackmap.rules.yml" in failure(url)
    with serving(lambda _: (200, vector())) as (url, _):
        assert "no volume with a topology" in failure(url)


OTHER_TIMES = [
    (
        1e9,
        1.1e9,
        "; the newest data before it: 2001-09-09 01:46:40 UTC (--at @1000000000)",
    ),
    (
        None,
        1.1e9,
        "; the first data after it: 2004-11-09 11:33:20 UTC (--at @1100000000)",
    ),
    (None, None, ""),
]


@pytest.mark.parametrize(("before", "later", "said"), OTHER_TIMES)
@pytest.mark.parametrize("words", [(), ("h9",)])
def test_a_time_without_data_is_named_with_one_that_has_some(before, later, said, words):
    def answer(query):
        near = {"max_over_time(timestamp": before, "min_over_time(timestamp": later}
        found = next((at for start, at in near.items() if query.startswith(start)), None)
        return 200, vector(*[({}, found)] * (found is not None))

    with serving(answer) as (url, _):
        text = failure(url, "--at", "@1000086400", *words)

    assert ("at 2001-09-10 01:46:40 UTC" in text) is bool(said)
    assert text.endswith(said or ("see stackmap-fleet(7)" if not words else url))


def test_what_is_found_at_no_other_time_has_the_plain_message():
    def answer(query):
        return (503, "busy") if "timestamp(" in query else (200, vector())

    with serving(answer) as (url, _):
        assert failure(url).endswith(f"with a topology in {url}; see stackmap-fleet(7)")


def test_one_host_that_is_unknown_or_ambiguous():
    with serving(lambda _: (200, vector())) as (url, _):
        assert "no host 'h9' with a topology" in failure(url, "h9")
    both = [({"job": j, "instance": "h1"}, 1) for j in ("a", "b")]
    with serving(lambda _: (200, vector(*both))) as (url, _):
        assert "h1 of job a, h1 of job b; choose one with --job" in failure(url, "h1")


def test_a_whole_answer():
    with serving(small_fleet) as (url, _):
        result = ask(url, "-J")
    report = json.loads(result.stdout)
    (volume,) = report["volumes"]

    assert result.exit_code == 0
    assert report["partial"] == []
    assert volume["host"] == "h1"
    assert volume["level"] == "raid5"
    assert volume["slowest_member"] == {"device": "dm-5", "ratio": 4.0}
    assert report["health"] == [
        {
            "what": "degraded", "host": "h1", "cluster": None, "device": "dm-8", "name": "vg/lv", "space": None,
            "model": None, "serial": None, "reason": None, "value": None, "since": "2026-11-21T10:39:02Z", "job": "n",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "value", "said"),
    [
        ({"what": "full", "device": "dm-2", "name": "vg/pool", "space": "metadata"}, 0.97, "full: vg/pool on h1, 97% of its metadata used"),
        ({"what": "silent", "reason": "no textfile"}, 1, "silent: h1, no textfile"),
        ({"what": "sick", "device": "sdb", "model": "ST4", "serial": "Z1"}, 4, "sick: sdb (ST4, serial Z1) on h1, 4.0× the await of its peers"),
        ({"what": "clock"}, -3000, "clock: h1, 50 min from the server's"),
    ],
)  # fmt: skip
def test_the_table_begins_with_what_is_wrong(labels, value, said, monkeypatch):
    """The worst first, and since when."""
    monkeypatch.setenv("COLUMNS", "200")

    def answer(query):
        status, body = small_fleet(query)
        if query.startswith("instance_device:stackmap_trouble:"):
            which = BEGAN if "since" in query else value
            body = vector(({"job": "n", "instance": "h1", **labels}, which), (BROKEN, which))
        return status, body

    with serving(answer) as (url, _):
        _, degraded, line, *_ = ask(url).stdout.splitlines()

    assert degraded == "degraded: vg/lv on h1, since 2026-11-21 10:39:02 UTC"
    assert line == f"{said}, since 2026-11-21 10:39:02 UTC"


def test_health_that_nobody_looked_at_is_not_known():
    """Older rules record no troubles; without any, that is no all-clear."""

    def answer(query):
        return (200, vector()) if "stackmap_trouble" in query else small_fleet(query)

    with serving(answer) as (url, _):
        result = ask(url, "-J")
    report = json.loads(result.stdout)

    assert result.exit_code == 64
    assert report["health"] == []
    assert [each.startswith("health is not known") for each in report["partial"]] == [True]


def test_rules_that_are_young_are_not_missing():
    """They count volumes at once, and have a rate only after two scrapes."""

    def answer(query):
        return (200, vector()) if "rate5m" in query else small_fleet(query)

    with serving(answer) as (url, _):
        assert failure(url).startswith("the rules are loaded, and have no figures yet")


def test_the_same_names_twice_are_said():
    """Two clusters with the same job and instance are counted once, and the result is partial."""

    def answer(query):
        if "> 1" in query:
            return 200, vector(({"job": "n", "instance": "h1"}, 1))
        return small_fleet(query)

    with serving(answer) as (url, _):
        result = ask(url, "-J")
    (said,) = json.loads(result.stdout)["partial"]

    assert result.exit_code == 64
    assert said.startswith("1 host that several series have")
    assert json.loads(result.stdout)["volumes_total"] == 1


def test_a_doubtful_host_of_a_cluster_is_named_with_it():
    def answer(query):
        if "without_counters" in query:
            return 200, vector(*[({"cluster": c, "instance": "h1"}, 1) for c in ("eu", "us")])
        return small_fleet(query)

    with serving(answer) as (url, _):
        (said,) = json.loads(ask(url, "-J").stdout)["partial"]
    assert said.startswith("2 hosts where node_exporter leaves out devices")
    assert said.endswith("(h1 of eu, h1 of us)")


@pytest.mark.parametrize("words", [[], ["--limit", "1"]])
def test_volumes_that_are_counted_and_not_shown_make_it_partial(words):
    """A recorded count outlives the series of a host that went away."""

    def answer(query):
        gone = query.startswith(INFOS)
        return (200, vector()) if gone else small_fleet(query, volumes=2)

    with serving(answer) as (url, _):
        result = ask(url, "-J", *words)
    report = json.loads(result.stdout)

    assert result.exit_code == 64
    assert report["volumes"] == []
    lacking = "1 of 1" if words else "2 of 2"
    assert [each.startswith(f"not shown: {lacking} volumes") for each in report["partial"]] == [
        True
    ]


def test_a_volume_that_is_shown_is_not_lacking():
    """One of two is there."""
    with serving(lambda query: small_fleet(query, volumes=2)) as (url, _):
        report = json.loads(ask(url, "-J").stdout)

    assert len(report["volumes"]) == 1
    assert [each for each in report["partial"] if each.startswith("not shown: 1 of 2 volumes")]


def test_a_window_that_still_fills_is_a_note():
    """The figures of a new host, and of a fleet without hourly means yet, are those of the data there is."""

    def answer(query):
        if "offset" in query and query.startswith(HOST):
            is_new = "unless" in query and " offset 604800s)" in query.partition("unless")[2]
            return 200, vector(*[({"job": "n", "instance": "h1"}, 1)] * is_new)
        if "avg1h" in query:
            return 200, vector()
        return small_fleet(query)

    with serving(answer) as (url, _):
        table, report = ask(url, "--window", "7d"), ask(url, "--window", "7d", "-J")
    found = json.loads(report.stdout)

    assert table.exit_code == report.exit_code == 0
    assert found["partial"] == []
    assert len(found["notes"]) == 2
    assert found["notes"][1] == "1 host with data for a part of the window only (h1)"
    assert f"note: {found['notes'][1]}" in " ".join(table.stdout.split())
    assert found["volumes"][0]["write_bytes"] == 2e6


@pytest.mark.parametrize("sort", SORTS)
def test_the_worst_are_the_worst_of_the_level(sort):
    """Otherwise volumes of other levels would take their places in the table."""
    with serving(lambda query: small_fleet(query, volumes=2)) as (url, asked):
        assert ask(url, "--level", "raid5", "--limit", "1", "--sort", sort).exit_code == 0
    (worst,) = [query for query, _ in asked if query.startswith("topk")]

    assert 'level="raid5"' in worst


def test_warnings_and_timeouts_make_it_partial():
    """Figures without an answer are unknown, never 0; all others are shown. The status is 64."""

    def answer(query):
        if "disk_requests" in query and query.startswith("max"):
            time.sleep(1.6)
        status, body = small_fleet(query)
        return status, {**body, "warnings": ["a store did not answer"]}

    with serving(answer) as (url, _):
        result = ask(url, "-J", "--timeout", "1")
    report = json.loads(result.stdout)

    assert result.exit_code == 64
    assert any("a store did not answer" in line for line in report["partial"])
    assert any(line.startswith("disk_requests of 1 host: ") for line in report["partial"])
    assert report["volumes"][0]["raid10_saves_requests"] is None
    assert report["volumes"][0]["write_bytes"] == 2e6


HOSTILE = [
    "\x1b[31mred",
    "a|b`c`",
    'quo"te',
    "back\\slash",
    "line\nbreak",
    "\u202eright to left",
    "<script>",
    "𝒰" * 40,
    "\udcff",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_label_values(name, tmp_path, monkeypatch):
    """They control no terminal, break no line, and change no query."""
    monkeypatch.setenv("COLUMNS", "200")  # a narrow table may fold its headings

    def answer(query):
        status, body = small_fleet(query)
        text = (
            json.dumps(body).replace('"vg/lv"', json.dumps(name)).replace('"h1"', json.dumps(name))
        )
        return status, json.loads(text)

    with serving(answer) as (url, asked):
        table, markdown = ask(url), ask(url, "-m")
        page = ask(url, "--report", str(tmp_path / "page.html"))
        report = json.loads(ask(url, "-J").stdout)
    pages = [query for query, _ in asked if "instance=~" in query]

    assert table.exit_code == markdown.exit_code == page.exit_code == 0
    text = (tmp_path / "page.html").read_text()
    assert "\x1b" not in text
    assert "<script></" not in text  # a cell; the page's own scripts have content
    assert "\x1b" not in table.stdout + markdown.stdout
    assert "\u202e" not in table.stdout
    assert len(table.stdout.splitlines()) <= 9
    assert report["volumes"][0]["host"] == name
    assert pages
    assert all(query.count("\n") == 0 for query in pages)


@pytest.mark.parametrize("url", ["http://[::1", "http://u:hunter/2@host", "http://host?token=x"])
def test_an_address_that_is_none(url):
    """A slash in the password makes the address invalid; the message does not show the password."""
    said = failure(url)

    assert "--url must be" in said
    assert "hunter" not in said


@pytest.mark.parametrize(
    ("name", "said"), [("page.txt", "use the ending"), ("there.html", "exists")]
)
def test_a_page_that_cannot_be_written_costs_no_query(name, said, tmp_path):
    (tmp_path / "there.html").write_text("mine")
    with serving(small_fleet) as (url, asked):
        result = ask(url, "--report", str(tmp_path / name))

    assert result.exit_code
    assert said in f"{result.output}{result.exception}"
    assert asked == []
    assert (tmp_path / "there.html").read_text() == "mine"


def test_usage(monkeypatch):
    """One line each, status 2."""
    monkeypatch.delenv("STACKMAP_PROMETHEUS_URL", raising=False)
    for words in (
        ["fleet"],
        ["fleet", "--url", "http://x", "--window", "10s"],
        ["fleet", "--url", "http://x", "-o", "nosuch"],
        ["fleet", "h1", "--url", "http://x", "--host", "a*"],
    ):
        result = CliRunner().invoke(stackmap, words)
        assert result.exit_code == 2, result.output
    assert main


@pytest.mark.parametrize(
    ("pattern", "expression"),
    [("db*", "db.*(:[0-9]+)?"), ("db1.x", r"db1\\.x(:[0-9]+)?"), ("db?:9100", "db.:9100")],
)
def test_a_host_without_a_port_has_any_port(pattern, expression):
    """A pattern with a port means that port."""
    with serving(small_fleet) as (url, asked):
        assert ask(url, "--host", pattern).exit_code in (0, 64)

    assert any(f'instance=~"{expression}"' in query for query, _ in asked)
