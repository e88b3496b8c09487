"""What differs between kernels, as the manual has it."""

import runpy

from tests.lab.boots import KERNELS
from tests.paths import ROOT

TABLE = runpy.run_path(str(ROOT / "packaging" / "kernel_facts.py"))
BOOTED, KERNEL_FACTS = TABLE["BOOTED"], TABLE["KERNEL_FACTS"]


def test_a_fact_was_seen_on_kernels_that_were_booted():
    """Each on one at least; the manual names those that were, with their releases."""
    page = (ROOT / "man" / "stackmap-kernel.7").read_text().replace("\\-", "-")

    assert all(set() < set(fact.seen) <= set(BOOTED) for fact in KERNEL_FACTS)
    assert all(release in page for release in BOOTED.values())
    assert {kernel for kernel in KERNELS if kernel != "newest"} < set(BOOTED)
