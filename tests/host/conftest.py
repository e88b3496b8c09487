"""What tests of long recordings share."""

import pytest

from stackmap.cli.record import samples
from stackmap.host.recording import RecordingHost
from tests.long import SPAN, Repeated


@pytest.fixture(scope="session")
def long(tmp_path_factory):
    """A recording of four segments, which is read alone."""
    out = tmp_path_factory.mktemp("long") / "capture"
    with RecordingHost(Repeated(30, 7), str(out)) as host:
        for _ in samples(host, 1.0, SPAN):
            pass
    return out
