"""What all tests share."""


def pytest_addoption(parser):
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="write what is printed now to tests/expected; review the diff",
    )
