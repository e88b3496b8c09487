"""Answers of a server with random changes: the result is a document or one line, and JSON is JSON."""

from __future__ import annotations

import json
import random

import pytest

from stackmap.errors import StackmapError
from tests.features.fleet.stub import ask, serving, small_fleet
from tests.features.fleet.test_host import STEP, history

ODD = (
    None, 7, -1, True, 1e30, 10**30, "NaN", "+Inf", "1e308", "x", "", [], {}, [1, 2, 3], [1, "2"], {"a": 1},
    "\x1b[2J\n", "\udcff", "0", "dm-8", "raid5", "h1",
)  # fmt: skip
BODIES = ("", "<html>", {"status": "error", "error": "e"}, {"status": "error", "errorType": "timeout"})  # fmt: skip
ALL_HOSTS = ([], ["--limit", "1"], ["--window", "7d"], ["--report", "-", "-m"], ["--report", "-"], ["--level", "raid5"])  # fmt: skip
ONE_HOST = ["h1", "--at", f"@{STEP * 6}", "--window", "10min"]


def changed(answer, chance):
    """Return *answer* with some values of its series replaced, repeated or removed, or of the whole."""
    answer = json.loads(json.dumps(answer))
    for _ in range(chance.choice((1, 1, 2, 5))):
        parent, key = answer["data"], "result"
        if not parent[key] or chance.random() < 0.1:
            parent, key = {"": answer}, ""
        inside = True
        while inside and isinstance(parent[key], dict | list) and parent[key]:
            parent = parent[key]
            key = chance.choice([*parent] if isinstance(parent, dict) else range(len(parent)))
            inside = chance.random() < 0.75
        how = chance.random()
        if how < 0.2:
            del parent[key]
        elif how < 0.4 and isinstance(parent, list):
            parent.append(parent[key])
        else:
            parent[key] = chance.choice(ODD)
        if not isinstance(answer.get("data"), dict) or "result" not in answer["data"]:
            break
    return answer


@pytest.mark.parametrize("seed", range(60))
def test_odd_answers(seed):
    chance = random.Random(seed)
    one = chance.random() < 0.5
    whole = history([600 * n for n in range(1, 7)], [1000] * 6) if one else small_fleet
    share = chance.choice((0.02, 0.2, 0.5, 1))

    def answer(query):
        chance = random.Random(f"{seed} {query}")  # queries come in any order
        status, body = whole(query)
        if chance.random() >= share:
            return status, body
        if chance.random() < 0.2:
            return chance.choice((200, 204, 301, 404, 422, 500, 503)), chance.choice(BODIES)
        return status, changed(body, chance)

    words = [*(ONE_HOST if one else chance.choice(ALL_HOSTS))]
    as_json = "--report" not in words and chance.random() < 0.5
    with serving(answer) as (url, _):
        result = ask(url, *words, *["-J"] * as_json)

    assert result.exception is None or isinstance(result.exception, StackmapError | SystemExit)
    assert "\x1b" not in result.output
    for line in result.stdout.splitlines() if as_json else ():
        json.loads(line, parse_constant=pytest.fail)
