"""Each block of a document has a function in each writer."""

from __future__ import annotations

import importlib
import pkgutil
from typing import get_args

import pytest

import stackmap.render
from stackmap.document import blocks

BLOCKS = set(get_args(blocks.Block))
# No command prints them.
ON_PAGES = {blocks.Stack, blocks.Chart, blocks.Diagram, blocks.Tiles, blocks.Bars}


def writers():
    """Return the functions that have one for a block, by module: what a writer is."""
    names = pkgutil.walk_packages(stackmap.render.__path__, "stackmap.render.")
    modules = [importlib.import_module(module.name) for module in names]
    found = {
        module.__name__.removeprefix("stackmap.render."): set(value.registry)
        for module in modules
        for value in vars(module).values()
        if BLOCKS & set(getattr(value, "registry", ()))
    }
    assert {"terminal", "markdown", "html.page"} <= found.keys()
    return found


@pytest.mark.parametrize("name", writers())
def test_a_writer_knows_every_block(name):
    """One that is half added stops at the first document with a block that it lacks."""
    assert BLOCKS - writers()[name] - (ON_PAGES if name == "terminal" else set()) == set()
