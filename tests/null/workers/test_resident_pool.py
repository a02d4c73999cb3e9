"""Tasks are dealt to processes that run, and wait for one with a limit where none does."""

import pytest

from kernelwright.core.errors import DeviceError
from kernelwright.workers.resident_pool import ResidentPool


class Resident:
    """A process that says what the test tells it."""

    def __init__(self, state="running"):
        self.state, self.calls = state, []

    def submit(self, call, *arguments):
        self.calls.append(call)

    def shutdown(self):
        self.state = "lost"


def pool_of(*residents, away_s=0.0):
    made = iter(residents)
    return ResidentPool(lambda: next(made), 2, away_s=away_s)


def test_tasks_are_dealt_evenly_and_stay_where_they_are():
    one, other = Resident(), Resident()
    pool = pool_of(one, other)
    dealt = [pool.wait_for(task) for task in "abcd"]
    assert dealt == [one, other, one, other]
    assert [pool.find(task) for task in "abcd"] == dealt


def test_tasks_of_a_lost_process_go_to_the_others_and_the_next_one_takes_its_share():
    one, other, next_one = Resident(), Resident(), Resident("waiting")
    pool = pool_of(one, other, next_one)
    assert [pool.wait_for(task) for task in "abcd"] == [one, other, one, other]
    pool.replace(one)
    pool.replace(one)  # a second thread saw it too
    assert {pool.wait_for(task) for task in "abcd"} == {other}
    next_one.state = "running"
    pool.share()
    assert {pool.wait_for(task) for task in "abcd"} == {other, next_one}


def test_a_process_that_was_lost_with_its_node_is_replaced_before_it_is_called():
    one, other, next_one = Resident(), Resident(), Resident()
    pool = pool_of(one, other, next_one)
    assert [pool.wait_for(task) for task in "ab"] == [one, other]
    one.state = "lost"
    assert pool.wait_for("a") is next_one and pool.find("b") is other


def test_where_no_process_is_left_the_wait_has_an_end():
    pool = pool_of(Resident(), Resident(), Resident("waiting"), Resident("waiting"), away_s=0.3)
    for task in "ab":
        pool.replace(pool.wait_for(task))
    assert pool.find("a") is None
    with pytest.raises(DeviceError, match="no node has room to work on"):
        pool.wait_for("a")


def test_those_that_did_something_are_told_before_they_end():
    one, other = Resident(), Resident()
    pool = pool_of(one, other)
    pool.wait_for("a")
    pool.shutdown(print)
    assert (one.calls, other.calls) == ([print], []) and {one.state, other.state} == {"lost"}
