"""tracefs through a host with the kernel's rule that nothing is removed while something refers to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from stackmap.errors import SourceDenied, SourceError, SourceMissing, TraceRefused
from stackmap.features.trace import tracefs
from stackmap.features.trace.tracefs import (
    INSTANCE,
    PROBES,
    SYNTHETIC,
    Probe,
    ProbeSet,
    Synthetic,
    Tracing,
    Trigger,
    clean,
)
from stackmap.host.tracing import InstanceExists


class Kernel:
    """A tracefs in memory. ``locked``: the directories that another process has locked."""

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {PROBES: [], SYNTHETIC: []}
        self.directories = {tracefs.ROOT, f"{tracefs.ROOT}/instances"}
        self.locked: set[str] = set()
        self.denied = ""

    def read(self, path):
        if self.denied and path.startswith(tracefs.ROOT):
            raise SourceDenied(f"{path}: {self.denied}")
        if path not in self.files:
            raise SourceMissing(f"{path}: No such file or directory")
        return "".join(f"{line}\n" for line in self.files[path])

    def names_in(self, path):
        below = {
            p[len(path) + 1 :].partition("/")[0] for p in self.files if p.startswith(f"{path}/")
        }
        if path not in self.directories and not below:
            raise SourceMissing(f"{path}: No such file or directory")
        return sorted(below)

    def write_denied(self, path):
        return f"{path}: {self.denied}" if self.denied else ""

    def make_directory(self, path):
        if path in self.directories:
            raise InstanceExists(path)
        self.directories.add(path)
        self.files[f"{path}/events/enable"] = []

    def remove_directory(self, path):
        self.directories.remove(path)
        for name in [name for name in self.files if name.startswith(path)]:
            assert not self.files[name] or not name.endswith("trigger")
            del self.files[name]

    def lock(self, path):
        return path not in self.locked

    def write(self, path, text):
        lines = self.files.setdefault(path, [])
        if text.startswith("!"):
            if any(f"onmatch({tracefs.GROUP}." in line for other in self.files.values() for line in other
                   if "ts1=" in text):  # fmt: skip
                raise SourceError(f"{path}: Device or resource busy")
            lines.remove(next(line for line in lines if line.startswith(text[1:])))
        elif text.startswith("-:"):
            lines.remove(next(line for line in lines if text[1:] in line))
        elif path.endswith("trigger"):
            lines.append(f"{text} [active]")
        elif not path.endswith("enable"):
            lines.append(text)


PROBE = Probe("start", "submit_bio_noacct", ("bio=$arg1:x64",))


def install(tracing):
    start = Trigger("stackmap/start", "hist:keys=bio:ts1=common_timestamp")
    end = "hist:keys=bio:lat=x-$ts1:onmatch(stackmap.start).stackmap_latency"
    latency = Synthetic("stackmap_latency", "u32 dev; u64 lat")
    tracing.install(ProbeSet((PROBE,), (latency,), (start, Trigger("stackmap/end", end))))


def test_the_line_of_a_probe_has_its_group():
    assert PROBE.line == "p:stackmap/start submit_bio_noacct bio=$arg1:x64"


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, SystemExit, ValueError])
def test_everything_is_removed_at_the_end_whatever_ends_it(error):
    kernel = Kernel()
    kernel.files[PROBES] = ["p:others/probe vfs_read"]
    try:
        with Tracing(kernel) as tracing:
            install(tracing)
            if error:
                raise error
    except (KeyboardInterrupt, SystemExit, ValueError):
        pass
    assert kernel.files == {PROBES: ["p:others/probe vfs_read"], SYNTHETIC: []}
    assert INSTANCE not in kernel.directories


@pytest.mark.parametrize("has_fprobes", [True, False])
def test_what_fires_in_interrupts_is_an_fprobe_where_the_kernel_has_them(has_fprobes):
    """The kernel skips a kprobe that interrupts another's handler. Others' fprobes stay."""

    class Refusing(Kernel):
        def write(self, path, text):
            if path == tracefs.DYNAMIC and not has_fprobes:
                raise SourceError(f"{path}: Invalid argument")
            super().write(path, text)

    kernel = Refusing()
    kernel.files[tracefs.DYNAMIC] = others = ["f:others/probe vfs_read", "s:synthetic/stackmap_x"]
    line = ":stackmap/start submit_bio_noacct bio=$arg1:x64"
    with Tracing(kernel) as tracing:
        tracing.install(ProbeSet((PROBE._replace(in_interrupts=True),)))
        added = kernel.files[tracefs.DYNAMIC][2:], kernel.files[PROBES]
        assert added == ([f"f{line}"], []) if has_fprobes else ([], [f"p{line}"])

    assert (kernel.files[tracefs.DYNAMIC], kernel.files[PROBES]) == (others, [])


def test_a_signal_before_the_context_is_entered_leaves_nothing(monkeypatch):
    """A handler may run between any two instructions. What the context misses is removed at the end of the program."""
    at_exit = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    monkeypatch.setattr("atexit.unregister", at_exit.remove)
    kernel = Kernel()
    install(Tracing(kernel).__enter__())
    at_exit[0]()
    assert kernel.files == {PROBES: [], SYNTHETIC: []}
    assert INSTANCE not in kernel.directories
    assert at_exit == []
    kernel.files[PROBES] = ["p:stackmap/mine vfs_read"]
    kernel.read = lambda _: sys.exit(1)  # before it is known whose probes these are
    with pytest.raises(SystemExit):
        Tracing(kernel).__enter__()
    assert kernel.files == {PROBES: ["p:stackmap/mine vfs_read"], SYNTHETIC: []}
    assert INSTANCE not in kernel.directories


@pytest.mark.parametrize(
    "number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGRTMIN]
)
def test_an_unusual_signal_ends_a_trace_as_others_do(number):
    program = (
        "import signal, time\nfrom stackmap.host.tracing import LiveTracingHost\n"
        f"signal.signal({int(number)}, signal.SIG_DFL)\n"  # a job in the background ignores SIGQUIT
        "LiveTracingHost()\ntry:\n print('ready', flush=True)\n time.sleep(60)\nfinally:\n print('removed')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, number)
        assert running.communicate()[0] == "removed\n"
        assert running.returncode == 128 + number


def test_a_stop_from_the_terminal_is_an_interrupt():
    program = (  # a test that runs in the background may have been started with SIGINT ignored
        "import signal\nimport time\nfrom stackmap.host.tracing import LiveTracingHost\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\nLiveTracingHost()\n"
        "try:\n print('ready', flush=True)\n time.sleep(60)\nexcept KeyboardInterrupt:\n print('removed')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        os.kill(running.pid, signal.SIGTSTP)
        assert running.communicate()[0] == "removed\n"


def test_an_action_comes_in_time_while_a_write_waits_for_its_reader():
    """And the write goes on when there is a reader."""
    program = (
        "import sys\nfrom stackmap.host.signals import after\n"
        "with after(0.2, lambda: print('removed', file=sys.stderr, flush=True)):\n print('x' * 1000000, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-E", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr.readline() == "removed\n"
        assert len(running.stdout.read()) == 1000001


def test_clean_removes_what_a_killed_trace_left():
    kernel = Kernel()
    install(Tracing(kernel).__enter__())
    with pytest.raises(TraceRefused, match="--clean"), Tracing(kernel):
        pass
    removed = clean(kernel)
    assert kernel.files == {PROBES: [], SYNTHETIC: []}
    assert removed[-1] == f"instance {INSTANCE}"
    assert "probe stackmap/start" in removed
    assert clean(kernel) == []


def test_a_running_trace_is_left_alone():
    kernel = Kernel()
    install(Tracing(kernel).__enter__())
    kernel.locked.add(INSTANCE)
    for attempt in (Tracing(kernel).__enter__, lambda: clean(kernel)):
        with pytest.raises(TraceRefused, match="another trace"):
            attempt()
    assert kernel.files[PROBES]


def test_probes_of_somebody_else_under_the_name_are_left_alone():
    kernel = Kernel()
    kernel.files[PROBES] = ["p:stackmap/mine vfs_read"]
    with pytest.raises(TraceRefused, match="did not make: p:stackmap/mine"), Tracing(kernel):
        pass
    assert clean(kernel) == []
    assert kernel.files[PROBES] == ["p:stackmap/mine vfs_read"]
    assert INSTANCE not in kernel.directories


def test_synthetic_events_of_somebody_else_under_the_name_are_left_alone():
    kernel = Kernel()
    kernel.files[SYNTHETIC] = ["stackmap_mine\tu32 dev"]
    with pytest.raises(TraceRefused, match="did not make: stackmap_mine"), Tracing(kernel):
        pass
    assert kernel.files[SYNTHETIC] == ["stackmap_mine\tu32 dev"]
    assert INSTANCE not in kernel.directories


def test_lockdown_and_missing_rights_are_named():
    kernel = Kernel()
    kernel.denied = "Operation not permitted"
    with pytest.raises(SourceDenied, match="needs root"), Tracing(kernel):
        pass
    kernel.files[tracefs.LOCKDOWN] = ["none integrity [confidentiality]"]
    with pytest.raises(SourceDenied, match="lockdown"), Tracing(kernel):
        pass
    kernel.directories.clear()
    kernel.files = {"/x": []}
    with pytest.raises(SourceMissing, match="not mounted"), Tracing(kernel):
        pass
