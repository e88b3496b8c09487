"""What all tests share."""

import inspect
import os
from functools import partialmethod

from click.testing import CliRunner, Result
from hypothesis import settings

# How long an example takes is the machine's business: budgets live in ./run bench.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# Before 8.2, the runner of click writes standard error to standard output by default. The tests read each alone.
if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
    Result.output = property(lambda result: result.stdout + result.stderr)


def pytest_addoption(parser):
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="write what is printed now to tests/expected; review the diff",
    )


# Tables have the decimal point of the locale; expected outputs are those of this one.
os.environ["LC_ALL"] = "C.UTF-8"
