"""``stackmap setup-files``, with the files of an installation by pip."""

from __future__ import annotations

from importlib.metadata import PackagePath
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import InputError, StackmapError
from stackmap.features.setup_files import command as setup_files

INSTALLED = {
    "../../../share/man/man8/stackmap.8": ".TH STACKMAP 8\n",
    "../../../lib/systemd/system/stackmap-record@.service": "ExecStart=/usr/bin/stackmap record\n",
    "../../../bin/stackmap": "#!python\n",
    "stackmap/__init__.py": "",
}


def install(site, monkeypatch, texts):
    """Let pip have installed *texts*, by their paths from site-packages."""
    paths = []
    for name, text in texts.items():
        path = PackagePath(name)
        path.dist = SimpleNamespace(locate_file=lambda path: site / str(path))
        paths.append(path)
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    monkeypatch.setattr(setup_files, "distribution", lambda _: SimpleNamespace(files=paths))


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    site = tmp_path / "venv/lib/python3/site-packages"
    site.mkdir(parents=True)
    install(site, monkeypatch, INSTALLED)
    monkeypatch.setattr("sys.argv", ["/opt/stackmap/bin/stackmap"])
    return tmp_path / "prefix"


def asked(prefix):
    return CliRunner().invoke(stackmap, ["setup-files", "--to", str(prefix)])


def test_files_are_put_in_place(prefix):
    """The files outside of Python; a service starts the program that was called; a second time replaces."""
    done = asked(prefix)
    assert done.exit_code == 0
    service = prefix / "lib/systemd/system/stackmap-record@.service"
    page = prefix / "share/man/man8/stackmap.8"
    assert done.output.splitlines() == [str(service), str(page)]
    assert service.read_text() == "ExecStart=/opt/stackmap/bin/stackmap record\n"
    assert page.read_text() == ".TH STACKMAP 8\n"
    assert asked(prefix).exit_code == 0


def test_a_package_has_them_in_place(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"stackmap/__init__.py": ""})
    with pytest.raises(InputError, match="only a stackmap that pip installed"):
        setup_files.shipped()


def test_a_prefix_that_cannot_be_written(prefix):
    prefix.mkdir()
    (prefix / "lib").touch()
    done = asked(prefix)
    assert isinstance(done.exception, StackmapError)
    assert str(done.exception).startswith(f"{prefix}/lib/systemd/system/stackmap-record@.service: ")
