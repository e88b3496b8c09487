"""
In the guest: write which files of the checkout Python loads, a path in it per line, to LOADED.

``boot`` puts this folder first in PYTHONPATH. What a boot depends on is then
known (``inputs.py``): a change of any other module does not make it out of date.
"""

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path

LOADED = "/run/loaded"
CHECKOUT = f"{Path(__file__).parents[3]}/"

_execute = SourceFileLoader.exec_module


def _told(self, module):
    if self.path.startswith(CHECKOUT):
        to = os.open(LOADED, os.O_WRONLY | os.O_APPEND)
        os.write(to, f"{self.path.removeprefix(CHECKOUT)}\n".encode())
        os.close(to)
    _execute(self, module)


SourceFileLoader.exec_module = _told
