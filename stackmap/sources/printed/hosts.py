"""Whose output a line begins: the host that a prompt, Ansible, dshbak, uname or sysstat's first line names."""

import re

from stackmap.model.topology import short_host
from stackmap.sources.printed.columns import PROMPT

_BANNER = re.compile(
    r"\s*Linux (?:\d\S* \((?P<host>[^()\s]{1,64})\)|(?P<uname>[\w.-]{1,64}) \d+\.\d+\.\S+ #\d)"
)
# Ansible's result of a host: "ok: [db1] => {", "db1 | CHANGED | rc=0 >>".
_RESULT = re.compile(
    r"(?:ok|changed|fatal|failed): \[(?P<task>[\w.-]{1,64})[\] ]"
    r"|(?P<adhoc>[\w.-]{1,64}) \| (?:CHANGED|SUCCESS|FAILED)\b"
)
# dshbak and `clush -b` print the name between two rules.
_GATHERED = re.compile(r"^(-{10,})\r?\n([\w.-]{1,64})(?: \(\d+\))?\r?\n\1\r?$", re.MULTILINE)
_SSH = re.compile(
    r"(?:\S*/)?ssh(?:\s+-(?:[bcDEeFIiJLlmOopQRSWw]\s*\S+|\w+))*\s+(?:[\w.-]{1,32}@)?(?P<host>[\w.-]{1,64})\s+\S"
)
# Commands whose output may be of any host: in a container, of several hosts, from a file.
_ELSEWHERE = re.compile(
    r"(?:ssh|kubectl|oc|docker|podman|ansible|pdsh|clush|salt|virsh|lxc)\s|sadf\b|sar\b.*\s-\w*f"
    r"|(?:[a-z]*cat|less|more|head|tail|grep)\s(?!.*/(?:proc|sys|etc|dev)/)"
)
_SUDO = re.compile(r"sudo(?:\s+-\w+)*\s+|(?:[A-Z_]+=\S*\s+)+")
_LOCAL_RUN = re.compile(r"(?:\S*/)?(?:iostat|sar|uname)\b")


_MARKS = ("@", "Linux", " # ", ":~", ": [", " | ")


def may_name_host(line: str) -> bool:
    """Whether *line* may be a prompt or a banner; most lines are neither."""
    return any(mark in line for mark in _MARKS)


def with_results(text: str) -> str:
    """Return *text* with the names of dshbak as Ansible has them, on one line."""
    return _GATHERED.sub(r"\2 | SUCCESS", text) if "----------\n" in text else text


class HostNames:
    """
    Takes the lines of a text. ``name``: the host of the next ones, "" if unknown; ``all``: those so far.

    A prompt may show another name than the host's own, which ``iostat`` prints below it.
    """

    def __init__(self) -> None:
        self.name = ""
        self.all: dict[str, None] = {}
        self._own: dict[str, str] = {}  # by the name in the prompt
        self._prompt = ""  # of a command that prints the host's own name

    def take(self, line: str) -> bool:
        """Take a line without quote marks; return True if it tells whose the next ones are."""
        if prompt := PROMPT.match(line):
            told = self._take_prompt(prompt["host"] or prompt["alone"], prompt["command"])
        elif told := (banner := _BANNER.match(line)) is not None:
            self.name = short_host(banner["host"] or banner["uname"])
            if self._prompt:
                self._own.setdefault(self._prompt, self.name)
            self._prompt = ""
        elif told := (result := _RESULT.match(line)) is not None:
            self.name = self._prompt = short_host(result["task"] or result["adhoc"])
        if told and self.name:
            self.all[self.name] = None
        return told

    def own(self, name: str) -> str:
        """Return the host's own name for that in its prompt."""
        return self._own.get(name, name)

    def _take_prompt(self, host: str | None, command: str) -> bool:
        command = _SUDO.sub("", command, count=1)
        remote = _SSH.match(command)
        if remote is not None:
            host = remote["host"]
        elif host is None:
            return False
        elsewhere = remote is None and _ELSEWHERE.match(command)
        self.name = "" if elsewhere else short_host(host)
        self._prompt = self.name if _LOCAL_RUN.match(command) else ""
        return True


def only_one_host(chosen: str, *others: str) -> str:
    """Return the note on a text with outputs of several hosts."""
    return f"the text is from {' and '.join((chosen, *others))}: only {chosen} is used; give one text per host"
