"""``./run release check`` on a copy of this checkout: what must be true before a release."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import pairwise

import pytest
from packaging.version import Version

from stackmap import __version__
from tests.packaging.roots import checkout

MANY = "- One more.\n" * 9000  # more than a pipe holds
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
LONG_AGO = "2020-01-01T00:00:00Z"  # before the date of every page


def git(folder, *words):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    dates = {"GIT_AUTHOR_DATE": LONG_AGO, "GIT_COMMITTER_DATE": LONG_AGO}
    subprocess.run(
        ["git", "-C", str(folder), *who, *words],
        env={**os.environ, **dates},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def changed(folder, path, before, after):
    text = (folder / path).read_text()
    assert before in text
    (folder / path).write_text(text.replace(before, after, 1))


def faults(folder):
    """Return the status of the check and its messages."""
    command = [str(folder / "packaging/release"), "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.fixture
def released(tmp_path):
    """A checkout whose changes are released, and committed."""
    folder = checkout(tmp_path / "c")
    changed(
        folder, "CHANGELOG.md", "## Unreleased", f"## Unreleased\n\n## {__version__} - 2026-11-22"
    )
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "release")
    return folder


def test_a_release(released):
    assert faults(released) == (0, f"release: {__version__}: all checks passed\n")


def test_a_changed_tree(released):
    (released / "note").touch()
    status, said = faults(released)
    assert status == 1
    assert "changes that are not committed" in said


def test_unreleased_changes(released):
    changed(released, "CHANGELOG.md", "## Unreleased\n", f"## Unreleased\n\n{MANY}")
    assert "CHANGELOG.md has unreleased changes" in faults(released)[1]


def test_another_version(released):
    """It is in one place; the changelog and every page must follow."""
    changed(released, "stackmap/__init__.py", f'"{__version__}"', '"9.9"')
    said = faults(released)[1]
    assert 'CHANGELOG.md has no heading "## 9.9 - YYYY-MM-DD"' in said
    assert said.count("its version is not 9.9") == len(list((released / "man").iterdir()))


def test_a_page_changed_after_its_date(released):
    changed(released, "man/stackmap.8", " 2026-", " 2019-")
    git(released, "commit", "-q", "-a", "-m", "man")
    assert "man/stackmap.8: changed on 2020-01-01, after its date" in faults(released)[1]


@pytest.fixture
def unreleased(released):
    """A checkout with a change since its release, and packages that are not built in a test."""
    git(released, "tag", f"v{__version__}")
    changed(released, "CHANGELOG.md", "## Unreleased\n", f"## Unreleased\n\n{MANY}")
    package = released / "packaging/package"
    package.rename(released / "packaging/real")
    package.write_text(
        """#!/bin/bash
[ "$1" != version ] || exec packaging/real version
mkdir dist && git describe > dist/built && [ ! -e .git/broken ] || date +%N >> dist/built
"""
    )
    package.chmod(0o755)
    changed(released, ".gitignore", "/dist/", "/dist/\n/packaging/real")
    git(released, "add", "-A")
    git(released, "commit", "-q", "-m", "more")
    return released


def release(folder, version):
    """Return the status of ``./run release VERSION``, and its messages."""
    who = {
        f"GIT_{role}_{what}": "x@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        [str(folder / "packaging/release"), version],
        env={**os.environ, **who}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_a_version_is_released(unreleased):
    """Changelog, every page and the version have it, in one commit with a tag; packages and checksums are there."""
    status, said = release(unreleased, "0.2.0")

    assert (status, faults(unreleased)[0]) == (0, 0), said
    assert (unreleased / "dist/built").read_text() == "v0.2.0\n"
    assert (unreleased / "dist/SHA256SUMS").read_text().endswith("  ./built\n")
    assert versions(unreleased) == ["0.2.0", "0.2.0"]
    below = (unreleased / "CHANGELOG.md").read_text().split("## 0.2.0 - ")[1]
    assert below.splitlines()[2] == "- One more."


@pytest.mark.parametrize(
    ("version", "reason"),
    [("0.1.0", "is there already"), ("0.1.1", "does not upgrade the packages of this commit, 0.2.0~dev"),
     ("0.2", "not a version X.Y.Z: 0.2")],
)  # fmt: skip
def test_a_version_that_cannot_be_released_changes_nothing(unreleased, version, reason):
    status, said = release(unreleased, version)

    assert (status, reason in said) == (1, True), said
    git(unreleased, "diff", "--exit-code", "HEAD")
    assert "0.2.0.dev2" in versions(unreleased)[0]


def test_a_release_that_failed_says_how_to_undo_it(unreleased):
    """Two builds that differ: the commands that it prints bring the checkout back."""
    (unreleased / ".git/broken").touch()
    before = versions(unreleased)
    status, said = release(unreleased, "0.2.0")
    assert (status, "two builds differ" in said) == (1, True)

    undo = said.rsplit("to undo: ", 1)[1]
    subprocess.run(["bash", "-c", undo], cwd=unreleased, check=True, stdout=subprocess.DEVNULL)
    assert versions(unreleased) == before


def versions(folder):
    """Return the version, as Python and as Debian writes it."""
    command = [str(folder / "packaging/package"), "version"]
    return subprocess.check_output(command, text=True, cwd=folder).split()


def test_a_later_package_upgrades_an_earlier_one_and_the_release_both(released):
    """Each commit has a version of its own, each change too, and a tree without git that of its release."""
    git(released, "tag", f"v{__version__}")
    found = [versions(released)]
    for number in range(11):
        git(released, "commit", "-q", "--allow-empty", "-m", str(number))
        found.append(versions(released))
    (released / "note").touch()
    changed_once = versions(released)
    (released / "note").write_text("more")
    shutil.rmtree(released / ".git")

    assert [*found[0], *versions(released)] == [__version__] * 4
    assert changed_once[1].startswith(f"{found[-1][1]}.d")
    for (_, earlier), (_, later) in pairwise([*found, changed_once, ["", "0.2.0"]]):
        command = ["dpkg", "--compare-versions", earlier, "lt", later]
        assert subprocess.run(command, check=False).returncode == 0, command
    python = [Version(each) for each, _ in [*found, ["0.2.0", ""]]]
    assert python == sorted(python)
