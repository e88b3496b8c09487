"""Command lines that users of iostat, lsblk and zpool type: what each does, or how it is refused."""

import re
import shlex

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLE = str(ROOT / "sample_topologies" / "vghdd")
AVERAGE = r"\Aaverage of 5 intervals, 10\.0 s\nDEVICE "
TWICE = r"(?s)\A2\.0 s\nDEVICE .*\n2\.0 s\nDEVICE "
ONLY_SDA = r"\A.*\nDEVICE .*\n *sda .*\s*\Z"
ONLY_SDA_TWICE = r"\A2\.0 s\nDEVICE .*\n *sda .*\s*2\.0 s\nDEVICE .*\n *sda .*\s*\Z"
DISKS = r"\A.*\nDEVICE .*\n *sda .*\n *sdb .*\n *sdc .*\n *sdd .*\n *fd0 .*\s*\Z"
EXTENDED = r"DEVICE .* tps .*busy%"
TREE = r"\ADEVICE +KERNEL +SIZE +WHAT"
USAGE = r"\AUsage: stackmap "

# A command line, and a pattern in what it prints.
DONE = {
    "iostat": AVERAGE,
    "iostat 2": r"\A2\.0 s\nDEVICE ",
    "iostat 2 2": TWICE,
    "iostat 2 2 sda": ONLY_SDA_TWICE,
    "iostat sda 2 2": ONLY_SDA_TWICE,
    "iostat /dev/sda": ONLY_SDA,
    "iostat sda sdd": r"\A.*\nDEVICE .*\n *sda .*\n *sdd .*\s*\Z",
    "iostat -d": AVERAGE,
    "iostat -d 2 2": TWICE,
    "iostat -k": "rKiB/s",
    "iostat -N 2 2": TWICE,
    "iostat -y 2 2": TWICE,
    "iostat -x": EXTENDED,
    "iostat -dx 2 2": EXTENDED,
    "iostat -xk 2 2": "rKiB/s",
    "iostat -xm": "rMiB/s",
    "iostat -dxm sda sdb 2 2": r"rMiB/s.*\n *sda .*\n *sdb ",
    "iostat -t": r"\A2026-11-21T",
    "iostat -xmt 2 2": r"\A2026-11-21T.*\n2\.0 s\n.*rMiB/s",
    "iostat -xz 2 2": r"\A(?![\s\S]*fd0)2\.0 s",
    "iostat -xyz 2 2": r"\A(?![\s\S]*fd0)2\.0 s",
    "iostat -z -o JSON": r'\A(?!.*"fd0")\{"schema": "stackmap.iostat/1"',
    "iostat --columns +%util,aqu-sz,rareq-sz sda": r"aqu +busy%\n",
    "iostat --columns rkB/s,wkB/s,d_await sda": r"DEVICE +rKiB/s +wKiB/s +d_await\n",
    "iostat --sort %util": AVERAGE,
    "iostat --list-columns": r"\AColumns per device\n  r/s ",
    "iostat --human": r"\d (KiB|MiB)",
    "iostat -h": USAGE,
    "iostat -xh": USAGE,
    "iostat -p": DISKS,
    "iostat -p ALL": DISKS,
    "iostat -pALL": DISKS,
    "iostat -p sda": ONLY_SDA,
    "iostat -p sda 2 2": ONLY_SDA_TWICE,
    "iostat -p sda,sdb": r"\A.*\nDEVICE .*\n *sda .*\n *sdb .*\s*\Z",
    "iostat -o JSON": r'\A\{"schema": "stackmap.iostat/1"',
    "iostat -o JSON -dx": r'\A\{"schema": "stackmap.iostat/1"',
    "iostat -x -o JSON 2 2": r"\A\{.*\}\n\{.*\}\n\Z",
    "iostat -x dm-8": r"\A(?![\s\S]*sda)[\s\S]*\nvghdd/vm-disk1 \(dm-8\) ",
    "iostat -x /dev/mapper/vghdd-vm--disk1": r"DEVICE .*\nvghdd/vm-disk1 .*\n rimage_0 (?s:.*)\n rimage_3 .*\n rmeta_0 ",
    "iostat -n": r"\Avghdd/vm-disk1 (?s:.*)\nfd0 ",
    "iostat -n sda 2 3": r"\Asda .*\nsda .*\nsda .*\n\Z",
    "iostat -nt sda 2 1": r"\A2026-11-21T\S+\nsda .*\n\Z",
    "iostat -l vghdd": r"\Avghdd/vm-disk1 \(dm-8\)",
    "tree": TREE,
    "sda": TREE,
    "tree sda": TREE,
    "tree /dev/sda": TREE,
    "tree -b": r"\n.* 629145600 ",
    "tree --bytes": r"\n.* 629145600 ",
    "tree -i": r"\n\|- ",
    "tree --ascii": r"\n\|- ",
    "tree -J": r'\A\{"schema": "stackmap.tree/1"',
    "tree --json": r'\A\{"schema": "stackmap.tree/1"',
    "tree -Jb": r'\A\{"schema": "stackmap.tree/1"',
    "tree -o NAME,MAJ:MIN,RM,SIZE,RO,TYPE,MOUNTPOINTS": r"\ADEVICE +DEV +RM +SIZE +RO +KIND +USED-BY",
    "tree -n": r"\Afd0 ",
    "tree -no NAME": r"\Afd0\n",
    "tree -o NAME,SIZE": r"\ADEVICE +SIZE\n",
    "tree -o NAME,SIZE,TYPE,MOUNTPOINT": r"\ADEVICE +SIZE +KIND +USED-BY",
    "tree -o NAME,MODEL,SERIAL,WWN": r"\ADEVICE +MODEL +SERIAL +WWN",
    "tree -o +UUID": r"\ADEVICE +KERNEL .* UUID",
    "tree -O": r"\ADEVICE +KERNEL .* UUID",
    "tree -P": r'\ADEVICE="fd0" KERNEL="fd0"',
    "tree -P -o NAME,SIZE": r'\ADEVICE="fd0" SIZE="4 KiB"\n',
    "tree -r": r"\ADEVICE KERNEL SIZE",
    "tree -rn -o NAME,SIZE": r"\Afd0 4\\x20KiB\n",
    "tree -s": r"\n *sda .*\n\W+vghdd",
    "tree -s dm-8": r"\ADEVICE .*\nsda ",
    "tree -H": r"\A +DEVICE  name that people use",
}
# A command line that is refused, and what is said in one line.
REFUSED = {
    "iostat -c": "use `mpstat`",
    "iostat -xtdc 5 2": "use `mpstat`",
    "iostat -s": "--columns tps,await",
    "iostat -g all sda sdb": "--totals adds totals",
    "iostat -H": "--totals adds totals",
    "iostat -j UUID abc": "`stackmap tree -o +UUID`",
    "iostat --dec=0": "-J has all",
    "iostat --pretty": "names come first already",
    "iostat --compact": "use --columns",
    "iostat -f /tmp": "name the device",
    "iostat -V": "must stand before 'iostat'",
    "iostat 0": "INTERVAL is in seconds, above 0",
    "iostat 1 0": "COUNT must be a whole number above 0",
    "1 5": "run `stackmap iostat 1`",
    "iostat -v": "use -l",
    "iostat -vly vghdd 1 2": "use -l",
    "iostat -w": "`stackmap trace` shows latencies",
    "iostat -q": "use --columns aqu",
    "iostat -r": "`stackmap trace` shows sizes of requests",
    "iostat -T d 1 2": "use -t",
    "iostat -P": "`stackmap tree -o +KERNEL`",
    "iostat -L": "kernel names in parentheses",
    "iostat --format json": "did you mean --json?",
    "iostat --human-readable": "did you mean --human?",
    "iostat --interval 5": "INTERVAL and COUNT are words, `stackmap iostat 1 5`",
    "tree --sizes": "did you mean --bytes?",
    "tree --reverse": "did you mean --inverse?",
    "tree --interval 5": "no option --interval; see",
    "tree -a": "all devices are shown",
    "tree --all": "all devices are shown",
    "tree -A": "name the devices to show",
    "tree -d": "name the disks",
    "tree --nodeps": "name the disks",
    "tree -dno NAME": "name the disks",
    "tree -D": "`lsblk -D`",
    "tree -e 7": "name the devices to show",
    "tree -I 8": "name the devices to show",
    "tree -N": "name the disks",
    "tree -S": "-o +MODEL,SERIAL",
    "tree --scsi": "-o +MODEL,SERIAL",
    "tree -M": "shown once already",
    "tree -T": "the tree is the default",
    "tree -f": "-o +USED-BY,UUID",
    "tree --fs": "-o +USED-BY,UUID",
    "tree -l": "use -r",
    "tree --list": "use -r",
    "tree -m": "`ls -l /dev`",
    "tree -p": "-o +KERNEL",
    "tree --paths": "-o +KERNEL",
    "tree -q": "2>/dev/null",
    "tree -t": "MIN-IO,OPT-IO",
    "tree --topology": "MIN-IO,OPT-IO",
    "tree -w 120": "set COLUMNS",
    "tree -x SIZE": "use -r and sort",
    "tree --sort SIZE": "use -r and sort",
    "tree -y": "`-P` prints",
    "tree -z": "`lsblk -z`",
    "tree --noheadings": "use -n",
    "tree --sysroot /tmp": "`stackmap --from CAPTURE tree`",
    "tree -o NAME,FSTYPE": "no column FSTYPE; `lsblk -f` shows it",
    "tree -o +LABEL,FSUSE%": "no column LABEL; `lsblk -f` shows it",
    "tree -o +PKNAME": "no column PKNAME; -H lists the columns",
    "lsblk": "no command and no device named 'lsblk'",
    "status": "no command and no device named 'status'",
}


def run(line):
    runner = CliRunner(env={"COLUMNS": "200"})  # wide enough for iostat -x
    return runner.invoke(stackmap, ["--from", SAMPLE, *shlex.split(line)])


@pytest.mark.parametrize("line", DONE)
def test_a_usual_command_line_does_what_it_says(line):
    result = run(line)
    assert 0 == result.exit_code, result.stderr
    assert re.search(DONE[line], result.stdout), result.stdout


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_not_supported_is_refused_with_advice(line):
    """On one line of stderr; nothing is printed as if the option had been heard."""
    result = run(line)
    assert (2, "") == (result.exit_code, result.stdout)
    assert REFUSED[line] in result.stderr
    assert 1 == len(result.stderr.splitlines())


def test_these_are_one_hundred_lines():
    assert 100 <= len(DONE) + len(REFUSED)
