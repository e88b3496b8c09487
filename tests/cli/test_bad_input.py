"""Bad input: one clear line on stderr, a documented exit status, no traceback."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import termios
import time

import pytest

from stackmap import __version__
from tests.paths import ROOT

SAMPLE = str(ROOT / "sample_topologies" / "vghdd")


def stackmap(*arguments, **more):
    """Run the real program, as a shell would."""
    environment = {**os.environ, "COLUMNS": "80", **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "stackmap", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
        timeout=60,
        **more,
    )


@pytest.fixture
def bad(tmp_path):
    """Files that are no captures and no statistics."""
    (tmp_path / "empty").write_text("")
    (tmp_path / "words").write_text("no table here\n" * 7)
    (tmp_path / "folder").mkdir()
    with tarfile.open(tmp_path / "hostile.tgz", "w:gz") as archive:
        link = tarfile.TarInfo("proc/diskstats")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with tarfile.open(tmp_path / "whole.tgz", "w:gz") as archive:
        archive.add(SAMPLE, "x")
    for name in ("times", "pipe"):
        (tmp_path / name / "proc").mkdir(parents=True)
    (tmp_path / "times" / "capture.json").write_text('{"format": 1, "times": "abc"}')
    os.mkfifo(tmp_path / "pipe" / "proc" / "diskstats")
    whole = (tmp_path / "whole.tgz").read_bytes()
    (tmp_path / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    return tmp_path


CASES = [
    (["--from", "{bad}/none", "tree"], 1, "no such file"),
    (["--from", "{bad}/empty", "tree"], 1, "{bad}/empty"),
    (["--from", "{bad}/words", "tree"], 1, "not a capture"),
    (["--from", "{bad}/words", "tree"], 1, "; a capture is what `stackmap record OUT` writes"),
    (["--from", "{bad}/folder", "tree"], 1, "; a capture is what `stackmap record OUT` writes"),
    (["--from", "{bad}/folder", "tree"], 1, "not a capture"),
    (["--from", "{bad}/hostile.tgz", "tree"], 1, "refused"),
    (["--from", "{bad}/cut.tgz", "tree"], 1, "damaged"),
    (["--from", SAMPLE, "tree", "nothing-has-this"], 32, "nothing-has-this"),
    (["--from", SAMPLE, "iostat", "nothing-has-this"], 32, "nothing-has-this"),
    (["--from", SAMPLE, "iostat", "x"], 32, "x"),
    (["--from", SAMPLE, "iostat", "0"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "-1"], 2, "-1"),
    (["--from", SAMPLE, "iostat", "nan"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "inf"], 2, "INTERVAL"),
    (["--from", SAMPLE, "iostat", "99999999999999999999"], 2, "INTERVAL"),
    (["record", "{bad}/new", "nan"], 2, "INTERVAL"),
    (["record", "{bad}/new", "inf"], 2, "INTERVAL"),
    (["trace", "--max-overhead", "nan"], 2, "max-overhead"),
    (["fleet", "--url", "http://127.0.0.1:9", "--timeout", "nan"], 2, "timeout"),
    (["fleet", "--url", "http://127.0.0.1:9", "--timeout", "inf"], 2, "timeout"),
    (["--from", SAMPLE, "iostat", "--report", "9" * 30], 2, "report"),
    (["record", "{bad}/words"], 3, "{bad}/words: exists; give a new directory"),
    (["--from", "{bad}/times", "tree"], 1, "times"),
    (["--from", "{bad}/pipe", "iostat"], 1, "not a plain file"),
    (["--from", SAMPLE, "iostat", "1", "0"], 2, "COUNT"),
    (["--from", SAMPLE, "iostat", "1", "2.5"], 2, "COUNT"),
    (["--from", SAMPLE, "iostat", "--report", "0"], 2, "report"),
    (["--from", SAMPLE, "iostat", "--report", "99"], 1, "99"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/none"], 2, "none"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/empty"], 1, "empty"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/words"], 1, "no device statistics"),
    (["--from", SAMPLE, "iostat", "--input", "{bad}/whole.tgz"], 1, "use --from"),
    (["record", SAMPLE], 3, "exists; give a new directory"),
    (["record", "/proc/x", "1", "1"], 1, "give a new directory"),
    (["--from", SAMPLE, "export", "--parquet", "-o", "{bad}/none/x"], 1, "{bad}/none/x"),
    (
        ["--from", SAMPLE, "export", "--parquet", "-o", "/dev/full"],
        3,
        "/dev/full: is a character device",
    ),
    (
        ["--from", SAMPLE, "export", "--openmetrics", "-o", "/dev/full"],
        3,
        "/dev/full: is a character device",
    ),
    (["--from", SAMPLE, "report", "-m", "-o", "/dev/full"], 3, "/dev/full: is a character device"),
    (["--from", "{bad}/none", "compare", SAMPLE, SAMPLE], 1, "{bad}/none"),
    (["--from", SAMPLE, "explain", "--since-boot", "--input", "{bad}/words"], 2, "--since-boot"),
    (["--from", SAMPLE, "--since", "noon", "iostat"], 2, "'noon' is not a time"),
    (["--from", SAMPLE, "--every", "soon", "explain"], 2, "'soon' is not a length of time"),
    (["--from", SAMPLE, "whatif", "--to", "raid10"], 2, "missing NAME: which volume?"),
    (["--from", SAMPLE, "iostat", "VGHD"], 32, "no device named 'VGHD'; did you mean 'vghdd'?"),
    (["no-such-command"], 2, "no-such-command"),
    (["--from", SAMPLE, "--frm", "x"], 2, "no option --frm; did you mean --from?"),
    (["iostat", "--from"], 2, "--from requires an argument; see `stackmap --help`"),
    (["tree", "-V"], 2, "-V must stand before 'tree'; see `stackmap --help`"),
    (
        ["--input", "ticket.txt", "iostat"],
        2,
        "--input must stand after the command: `stackmap explain --input FILE`",
    ),
    (["--from", SAMPLE, "tree", "-M"], 2, "no option -M here: each device is shown once already"),
    (["--from", SAMPLE, "iostta", "-x", "5"], 2, "did you mean 'iostat'?"),
    (
        ["--from", SAMPLE, "Vghdd"],
        2,
        "no command and no device named 'Vghdd'; did you mean 'vghdd'?",
    ),
    (["--from", SAMPLE, "5"], 2, "5 is no command; run `stackmap iostat 5`"),
    (["--from", SAMPLE, "plan", "vm-disk1"], 2, "missing --to LAYOUT: which layout"),
    (["--from", SAMPLE, "plan", "--to", "raid10"], 2, "missing NAME: which volume?"),
    (["--from", SAMPLE, "fiojob"], 2, "missing NAME: which volume?"),
    (
        ["--from", SAMPLE, "report", "--to", "raid10", "-o", "x.html"],
        2,
        "missing NAME: which volume?",
    ),
    (["--from", SAMPLE, "whatif", "a", "b", "--to", "raid10"], 2, "only one NAME is possible"),
    (["--from", SAMPLE, "plan", "a", "b", "--to", "raid10"], 2, "unexpected argument b"),
    (["--from", SAMPLE, "compare", SAMPLE], 2, "missing AFTER: which recording?"),
    (["record"], 2, "missing OUT: which new directory?"),
    (["--from", SAMPLE, "whatif", "vm-disk1", "--to", "riad10"], 2, "did you mean raid10?"),
    (["--from", SAMPLE, "whatif", "vm-*", "--to", "raid10"], 32, "'vm-*' is a pattern"),
    (["--from", SAMPLE, "plan", "vm-*", "--to", "raid10"], 32, "'vm-*' is a pattern"),
    (["--from", SAMPLE, "fiojob", "vm-*"], 32, "'vm-*' is a pattern"),
    (["--from", SAMPLE, "tree", "--json", "--svg"], 2, "one form of output: --json or --svg"),
    (["--from", SAMPLE, "tree", "-J", "-P"], 2, "one form of output: --json or --pairs"),
    (["--from", SAMPLE, "explain", "-m", "-J"], 2, "one form of output: --markdown or --json"),
    (["--from", SAMPLE, "check", "-m", "-J"], 2, "one form of output: --markdown or --json"),
    (["--from", SAMPLE, "tree", "--diff", SAMPLE, "--dot"], 2, "--diff or --dot"),
]


@pytest.mark.parametrize(
    ("arguments", "status", "said"), CASES, ids=[" ".join(c[0][-3:]) for c in CASES]
)
def test_bad_input_is_told_in_a_line(bad, arguments, status, said):
    """What, where, what to do; the status that the man page names."""
    result = stackmap(*(a.format(bad=bad) for a in arguments))

    assert result.returncode == status
    assert said.format(bad=bad) in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("stackmap: ")


@pytest.mark.parametrize("words", [["-V"], ["--version"]])
def test_the_version(words):
    assert stackmap(*words).stdout == f"stackmap {__version__}\n"


@pytest.mark.parametrize("name", ["vghdd", "sda", "/dev/vghdd/vm-disk1", "vm-*"])
def test_a_name_alone_means_its_tree(name):
    """`stackmap vghdd` prints what `stackmap tree vghdd` prints; options may follow."""
    for more in ([], ["-n"]):
        short = stackmap("--from", SAMPLE, name, *more)

        assert short.returncode == 0
        assert short.stdout == stackmap("--from", SAMPLE, "tree", name, *more).stdout


def test_some_names_known_and_some_not():
    """What is known is shown; what is not is named; the status is lsblk's."""
    result = stackmap("--from", SAMPLE, "tree", "vm-disk1", "nothing-has-this")

    assert result.returncode == 64
    assert "vm-disk1" in result.stdout
    assert "nothing-has-this" in result.stderr


@pytest.mark.parametrize("arguments", [["tree"], ["iostat", "-x", "1", "5"], ["tree", "-J"]])
def test_a_closed_pipe_is_silent_and_well(arguments):
    """`stackmap … | head -1`: a closed pipe is neither a message nor a failure."""
    with subprocess.Popen(
        [sys.executable, "-m", "stackmap", "--from", SAMPLE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_closed_output_is_told():
    """`stackmap … >&-`: nothing can be shown, and why is said."""
    result = subprocess.run(
        [sys.executable, "-m", "stackmap", "--from", SAMPLE, "tree"],
        preexec_fn=lambda: os.close(1),
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
    )

    assert result.returncode == 1
    assert result.stderr == (
        "stackmap: standard output is closed: redirect it to a file or to /dev/null\n"
    )


@pytest.mark.parametrize("count", [0, 3])
def test_an_interrupt_ends_a_report_well(count):
    """Ctrl-C after some intervals: their average, and 0; before the first: nothing, and 0."""
    # A background job of a shell ignores SIGINT, and its children inherit that.
    run = ["env", "--default-signal=INT", sys.executable, "-m", "stackmap"]
    with subprocess.Popen(
        [*run, "iostat", "0.2" if count else "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as process:
        heads = 0
        while count and heads < count:
            heads += process.stdout.readline().startswith("DEVICE")
        if not count:
            time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, complaint = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "Traceback" not in complaint
    assert ("average of" in out) == bool(count)


COLOURED = [
    ["tree"],
    ["explain"],
    ["check"],
    ["iostat"],
    ["iostat", "-x"],
    ["plan", "vm-disk1", "--to", "raid10"],
]


@pytest.mark.parametrize("words", COLOURED, ids=" ".join)
def test_a_pipe_gets_no_colour(words):
    """Nor does NO_COLOR, even where colour could be."""
    for more in ({}, {"env": {"NO_COLOR": "1"}}):
        assert "\x1b" not in stackmap("--from", SAMPLE, *words, **more).stdout


@pytest.mark.parametrize("words", COLOURED, ids=" ".join)
def test_colours_change_no_text(words):
    """With --color always a pipe gets them, at the same places of the same lines."""
    plain = stackmap("--from", SAMPLE, *words).stdout
    coloured = stackmap("--color", "always", "--from", SAMPLE, *words).stdout

    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    assert ("\x1b" in coloured) == (words[0] != "check")  # nothing is wrong there


def test_the_worst_values_are_in_colour():
    """sda's member stands out: 7.14 and 80.03 ms, its peers have 3.04 and 9.76 at most."""
    text = stackmap("--color", "always", "--from", SAMPLE, "iostat").stdout

    assert re.findall(r"\x1b\[33m(\S+)\x1b\[0m", text) == ["7.14", "80.03", "24.97"]


def test_no_colour_on_a_terminal_with_no_color():
    assert "\x1b" not in on_a_terminal(80, "explain")


def on_a_terminal(columns, *arguments):
    """Run on a pseudo-terminal so wide; return what a person would see."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "stackmap", "--from", SAMPLE, *arguments],
        stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=environment,
    ):  # fmt: skip
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is gone with the program
            while chunk := os.read(master, 65536):
                shown += chunk
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_terminal_is_respected(columns):
    """No line of a tree is wider, and none is lost; sentences are wrapped."""
    tree = on_a_terminal(columns, "tree")
    report = on_a_terminal(columns, "iostat", "-l", "vm-disk1")

    assert max(map(len, tree.splitlines())) <= columns
    for name in ("vghdd/vm-", "sda", "sdd"):
        assert name in tree
    told = report[report.index("one write causes") :]
    assert max(map(len, told.splitlines())) <= columns


@pytest.mark.parametrize("command", ["explain", "check --all"])
def test_sentences_fit_a_narrow_terminal(command):
    """What is wrong and what to do is said in the terminal's width."""
    shown = on_a_terminal(50, *command.split()).splitlines()
    sentences = [line for line in shown if line.startswith("  ")]

    assert sentences
    assert max(map(len, sentences)) <= 50


def test_names_cannot_control_a_terminal(tmp_path):
    """A dm name from somebody's capture may hold anything; escapes are spelled out."""
    disk = tmp_path / "sys/block/sda"
    (disk / "device").mkdir(parents=True)
    for name, text in {
        "dev": "8:0",
        "size": "1000",
        "device/model": "\x1b[2Jevil\x9b\u202e",
    }.items():
        (disk / name).write_text(text)
    for arguments in (["tree"], ["tree", "-J"], ["tree", "-P", "-O"], ["tree", "sda", "\x1b[31mx"]):
        result = stackmap("--from", tmp_path, *arguments)

        assert result.returncode in (0, 64)
        for unsafe in ("\x1b", "\x9b", "\u202e"):
            assert unsafe not in result.stdout + result.stderr


def test_no_counters_is_not_idle(tmp_path):
    """Without a first sample the volume's I/O is unknown, though later samples show 140 writes per second."""
    capture = tmp_path / "capture"
    shutil.copytree(SAMPLE, capture, symlinks=True)
    (capture / "proc" / "diskstats").write_text("")
    shown = stackmap("--from", capture, "iostat", "--per-layer", "vm-disk1").stdout
    assert "no I/O" not in shown
    assert "its I/O is unknown" in shown


@pytest.mark.parametrize("command", [["tree"], ["iostat", "0.1", "2"], ["check"]])
def test_too_few_files_may_be_open(command):
    """One line without a traceback; the limit comes after start-up, so that the interpreter does not fail instead."""
    limited = (
        "import resource; from stackmap import cli; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *command],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"stackmap: (\S+: )?Too many open files\n", done.stderr)
