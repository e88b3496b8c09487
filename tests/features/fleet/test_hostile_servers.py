"""A server that redirects, compresses or does not end: one line, and nothing is sent to another origin."""

import gzip
import json
import os

import pytest

from tests.features.fleet.stub import ask, failure, serving, small_fleet
from tests.fuzz import hostile_servers
from tests.fuzz.hostile_servers import ATTACKS, SECONDS

HEADERS = "bearer_token: b\nhttp_headers: {X-Tenant: {values: [t]}}\n"


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_ends_in_one_line(attack):
    """What it takes of memory and time: ``./run fuzz servers``."""
    parts, words = ATTACKS[attack]
    with hostile_servers.serving(parts) as url:
        said = failure(url, "--timeout", SECONDS)

    assert words in said
    assert "hunter2" not in said


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_is_sent_to_another_origin(status, tmp_path, monkeypatch):
    """Neither token nor headers, nor what ~/.netrc has for it: it is not asked at all."""
    (tmp_path / "http.yml").write_text(HEADERS)
    (tmp_path / ".netrc").write_text("machine localhost login l password n\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(small_fleet) as (other, there):
        elsewhere = other.replace("127.0.0.1", "localhost")
        with serving(lambda _: (status, f"{elsewhere}/prom/api/v1/query")) as (url, here):
            said = failure(url, "--http-config", str(tmp_path / "http.yml"))

    assert said == (
        f"{url}: the server redirects to another origin, {elsewhere}/prom;"
        " if you trust it, give that as --url"
    )
    assert {(each.get("Authorization"), each.get("X-Tenant")) for _, each in here} == {
        ("Bearer b", "t")
    }
    assert there == []


def test_a_redirect_within_the_origin_keeps_the_query(tmp_path):
    (tmp_path / "http.yml").write_text(HEADERS)
    redirected = set()

    def handler(query):
        if query in redirected:
            return small_fleet(query)
        redirected.add(query)
        return 307, "/prom/api/v1/query"

    with serving(handler) as (url, asked):
        result = ask(url, "-J", "--http-config", str(tmp_path / "http.yml"))

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["volumes_total"] == 1
    assert {each.get("X-Tenant") for _, each in asked} == {"t"}
    assert redirected == {query for query, _ in asked}


def test_nothing_compressed_is_asked_for_and_one_encoding_is_read():
    with serving(small_fleet) as (url, asked):
        ask(url)
    assert {each["Accept-Encoding"] for _, each in asked} == {"identity"}

    page = gzip.compress(json.dumps({"status": "error", "error": "packed"}).encode())
    with hostile_servers.serving(hostile_servers.answer(page, "Content-Encoding: gzip")) as url:
        assert "HTTP 200: packed" in failure(url)


def test_it_runs_with_the_libraries_that_the_tests_were_given():
    """``STACKMAP_URLLIB3`` names the version that must be in use: Debian 12's, or a current one."""
    import urllib3

    assert urllib3.__version__ == os.environ.get("STACKMAP_URLLIB3", urllib3.__version__)
