"""What all tests share."""

import os

from hypothesis import settings

# How long an example takes is the machine's business: budgets live in ./run bench.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_addoption(parser):
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="write what is printed now to tests/expected; review the diff",
    )


# Tables have the decimal point of the locale; expected outputs are those of this one.
os.environ["LC_ALL"] = "C.UTF-8"
