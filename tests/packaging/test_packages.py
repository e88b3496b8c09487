"""The packages, built, installed, used and removed in clean roots: minutes, so ./run package test runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackmap import __version__
from tests.packaging.roots import ROOT, CleanRoot, call, checkout

VERSIONS = call([str(ROOT / "packaging/package"), "version"]).split()  # Python's, and Debian's
KEPT = os.environ.get("STACKMAP_PACKAGING", "")
README = (ROOT / "README.md").read_text()
PACKAGING = ROOT / "packaging"
BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAMPLE = "/usr/share/doc/stackmap/examples/vghdd"
TAB = """. /usr/share/bash-completion/completions/stackmap
COMP_WORDS=(stackmap --from {sample} tree vgh) COMP_CWORD=4; _stackmap; echo "${{COMPREPLY[*]}}" """

in_a_root = pytest.mark.skipif(
    not KEPT or os.geteuid() != 0 or shutil.which("mmdebstrap") is None,
    reason="installs packages in a clean root, as root: ./run package test",
)


TEXTFILES = "/var/lib/prometheus/node-exporter"


def lines(heading: str) -> list[str]:
    """Return the commands below the comment that begins with *heading*, in README.md's section Install."""
    (block,) = BLOCK.findall(README.split("## Install\n")[1].split("\n## ")[0])
    (below,) = [part for part in block.split("# ") if part.startswith(heading)]
    return below.splitlines()[1:]


@pytest.fixture(scope="module")
def bookworm(tmp_path_factory):
    """Debian 12, with this checkout in /root/stackmap-src and nothing else."""
    root = CleanRoot("bookworm", tmp_path_factory.mktemp("roots"), Path(KEPT))
    checkout(root.path / "root/stackmap-src")
    return root


@pytest.fixture(scope="module")
def deb() -> Path:
    """The Debian package that this machine builds."""
    call([str(ROOT / "run"), "package", "deb"])
    return ROOT / f"dist/stackmap_{VERSIONS[1]}-1_all.deb"


def used(root: CleanRoot, before: set[str], version: str) -> None:
    """Use what is installed in *root*; remove it: nothing of it is left."""
    installed = root.files()
    assert "/usr/bin/stackmap" in installed
    assert root.run("stackmap", "--version") == f"stackmap {version}\n"
    assert root.run("stackmap", "tree").startswith("DEVICE")
    root.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "man-db")
    shutil.copy(PACKAGING / "debian/tests/demo", root.path / "tmp/demo")
    root.run("sh", "/tmp/demo")
    assert root.shell(TAB.format(sample=SAMPLE)).split() == [
        "vghdd", "vghdd/vm-disk1", "vghdd/vm-disk1-r10",
    ]  # fmt: skip
    assert "STACKMAP-FINDINGS" in root.run("man", "stackmap-findings")
    root.run("stackmap", "record", "--max-size", "1M", "/var/lib/stackmap/1", "0.1", "3")
    wants = "/etc/systemd/system/timers.target.wants"
    root.shell(f"mkdir -p {wants} {TEXTFILES} && stackmap export --textfile {TEXTFILES}")
    root.shell(f"ln -s /usr/lib/systemd/system/stackmap-textfile.timer {wants}/")
    root.run("apt-get", "purge", "-y", "-qq", "stackmap")
    left = {path for path in root.files() - before if "stackmap" in path}
    assert left == set()


@in_a_root
def test_the_readme_installs_on_debian_12(bookworm):
    """Its lines for Debian, one by one, in a root that has nothing: built, installed, used, purged."""
    before = bookworm.files()
    for line in lines("Debian"):
        bookworm.shell(f"cd /root/stackmap-src && {line}")
    used(bookworm, before, __version__)  # a tree without git


@in_a_root
def test_the_readme_installs_with_pip(bookworm):
    """Its lines for other systems, after what they presume: Python with venv."""
    bookworm.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "python3-venv")
    for line in lines("Elsewhere"):
        bookworm.shell(f"cd /root/stackmap-src && {line}")
    tree = "~/stackmap/bin/stackmap --from sample_topologies/vghdd tree vghdd"
    assert "vghdd/vm-disk1" in bookworm.shell(f"cd /root/stackmap-src && {tree}")
    share = bookworm.path / "root/stackmap/share"
    assert (share / "man/man8/stackmap.8").exists()
    assert (share / "bash-completion/completions/stackmap").exists()


@in_a_root
def test_sos_collects_what_stackmap_reads(deb, tmp_path):
    """The plugin in the sosreport of Debian 13 (Debian 12's is too old): the stacks and a recording that can be read."""
    trixie = CleanRoot("trixie", tmp_path, Path(KEPT))
    shutil.copy(deb, trixie.path / "tmp")
    trixie.run(
        "apt-get",
        "install",
        "-y",
        "-qq",
        "--no-install-recommends",
        f"/tmp/{deb.name}",
        "sosreport",
        "xz-utils",
    )
    plugins = trixie.path / "usr/lib/python3/dist-packages/sos/report/plugins"
    shutil.copy(PACKAGING / "sos/stackmap.py", plugins)
    options = ["--batch", "--tmp-dir", "/tmp/sos", "-o", "stackmap", "-k", "stackmap.seconds=2"]
    (trixie.path / "tmp/sos").mkdir()
    trixie.run("sos", "report", *options)
    trixie.shell("cd /tmp/sos && tar -xf sosreport-*.tar.*[z2]")
    found = "/tmp/sos/sosreport-*/sos_commands/stackmap"
    assert "DEVICE" in trixie.shell(f"cat {found}/stackmap_tree")
    assert "average of 2 intervals" in trixie.shell(f"stackmap --from {found}/recording iostat")


@in_a_root
def test_the_package_works_on_debian_13(deb, tmp_path):
    """Built on Debian 12: one package for all Python versions."""
    root = CleanRoot("trixie", tmp_path, Path(KEPT))
    before = root.files()
    shutil.copy(deb, root.path / "tmp")
    root.run("apt-get", "install", "-y", "-qq", f"/tmp/{deb.name}")
    used(root, before, VERSIONS[0])


def tool(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is missing")


@tool("rpmbuild")
@pytest.mark.skipif(not KEPT, reason="builds packages: ./run package test")
def test_the_rpm_has_all_files_and_requirements():
    """File list, requirements and scriptlets; rpmlint has found nothing."""
    call([str(ROOT / "run"), "package", "rpm"])
    rpm = str(ROOT / f"dist/stackmap-{VERSIONS[1]}-1.noarch.rpm")
    files = call(["rpm", "-qpl", rpm]).splitlines()
    pages = {f"/usr/share/man/man{p.suffix[1:]}/{p.name}" for p in (ROOT / "man").iterdir()}
    assert pages <= {file.removesuffix(".gz") for file in files}
    assert [file for file in files if file.endswith("/stackmap/completion/options.txt")]
    services = {f"/usr/lib/systemd/system/{p.name}" for p in (PACKAGING / "systemd").iterdir()}
    assert {"/usr/bin/stackmap", *services} <= {*files}
    requires = call(["rpm", "-qp", "--requires", rpm])
    for name in ("click", "networkx", "pyudev", "tabulate"):
        assert re.search(rf"python3\.\d+dist\({name}\) >= ", requires)
    assert call(["rpm", "-qp", "--scripts", rpm]) == ""


@tool("rpmspec")
def test_the_spec_uses_fedoras_macros(tmp_path):
    """On Fedora, the macros build it, and scriptlets reload and stop the services."""
    spec = tmp_path / "stackmap.spec"
    text = (PACKAGING / "rpm/stackmap.spec").read_text()
    spec.write_text(text.replace("@VERSION@", "1.0").replace("@DATE@", "Sun Nov 22 2026"))
    macros = {
        "fedora": "41", "pyproject_wheel": "WHEEL", "pyproject_install": "INSTALL",
        "pyproject_buildrequires": "BUILDREQUIRES", "systemd_post()": "POST %*",
        "systemd_preun()": "PREUN %*", "systemd_postun()": "POSTUN %*",
    }  # fmt: skip
    defined = [word for name, body in macros.items() for word in ("--define", f"{name} {body}")]
    shown = call(["rpmspec", "-P", *defined, str(spec)])
    service = "stackmap-record@.service stackmap-textfile.timer stackmap-textfile.service"
    assert "BuildRequires:  pyproject-rpm-macros" in shown
    assert {"WHEEL", "INSTALL", "BUILDREQUIRES", f"POST {service}"} <= {*shown.splitlines()}
    for scriptlet in ("PREUN", "POSTUN"):
        assert f"{scriptlet} {service.replace('@', '@' + chr(92) + '*')}" in shown
    assert "install_wheel.py" not in shown


@tool("systemd-analyze")
def test_services_are_valid_and_hardened(tmp_path):
    """`systemd-analyze verify` has no complaint; exposure is at most 4.5, "OK"."""
    for unit in (PACKAGING / "systemd").glob("*"):
        text = unit.read_text().replace("/usr/bin/stackmap", "/bin/true")
        text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)
        name = unit.name.replace("@.", "@5.")
        (tmp_path / name).write_text(text)
    for unit in tmp_path.glob("*"):
        done = subprocess.run(
            ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), unit.name
    for name in ("stackmap-record@5.service", "stackmap-textfile.service"):
        unit = tmp_path / name
        call(["systemd-analyze", "security", "--offline=yes", "--threshold=45", str(unit)])


PYTHONS = sorted(
    {p for v in range(11, 16) if (p := shutil.which(f"python3.{v}"))} | {sys.executable}
)


@pytest.mark.skipif(not KEPT, reason="installs packages from PyPI: ./run package test")
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("kind", ["*.whl", "stackmap-*.tar.gz"])
def test_pip_installs_in_a_bare_environment(python, kind, tmp_path):
    """From wheel and sdist, with the manual and the completion scripts."""
    if not list((ROOT / "dist").glob(kind)):
        call([str(ROOT / "run"), "package", "python"])
    (archive,) = (ROOT / "dist").glob(kind)
    call([python, "-m", "venv", str(tmp_path)])
    call([str(tmp_path / "bin/pip"), "install", "-q", str(archive)])
    sample = str(ROOT / "sample_topologies/vghdd")
    assert "vm-disk1" in call([str(tmp_path / "bin/stackmap"), "--from", sample, "tree"])
    share = tmp_path / "share"
    for path in ("man/man8/stackmap-tree.8", "zsh/site-functions/_stackmap",
                 "bash-completion/completions/stackmap", "fish/vendor_completions.d/stackmap.fish"):  # fmt: skip
        assert (share / path).exists()
