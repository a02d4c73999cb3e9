"""What a process does after it was told to stop counts, and what threads do to come to rest not."""

from kernelwright.judge.sandbox.stopping import LATE_NS, late_ns


def test_coming_to_rest_is_no_work():
    assert late_ns(LATE_NS, 1_000_000) == 0


def test_one_thread_that_goes_on_counts_as_it_is_and_several_by_the_clock():
    assert late_ns(3_000_000, 4_000_000) == 3_000_000
    assert late_ns(8_000_000, 4_000_000) == 4_000_000
