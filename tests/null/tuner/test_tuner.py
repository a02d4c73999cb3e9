"""The search over candidates: what it measures, what it knows already, and when it ends."""

import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.trial import Outline, Trial, TrialOutcome
from kernelwright.tuner.builder import Ahead
from kernelwright.tuner.cost_model import CostModel
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.process import BuilderEnded
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.tuner import PATIENCE, Tuner


class Numbers:
    """A space of numbers: candidate n has the neighbours n - 1 and n + 1."""

    def __init__(self, start, n):
        self.start, self.n, self.seen = start, n, set()

    def stream(self, leaders):
        numbers = [self.start] if not leaders else []
        numbers += [number_of(one) + step for one in leaders[:2] for step in (-1, 1)]
        for number in dict.fromkeys(numbers):
            if number not in self.seen and 0 <= number < self.n:
                self.seen.add(number)
                yield candidate(number)

    def outline(self, proposal):
        return Outline(())

    def goes_first(self, proposal):
        return False


def candidate(number):
    schedule = {"kernels": {"step": {"block": 2**number}}}
    return Proposal(Candidate(str(number), "cpp"), "rules", schedule=schedule)


def in_triton(number):
    return replace(candidate(number), candidate=Candidate(str(number), "triton"))


def number_of(proposal):
    return int(proposal.candidate.source)


class Process:
    """A tuner's process that has nothing to compile apart."""

    architecture = ""

    def end_builds(self):
        pass


class Compilers:
    """A tuner's process whose compilers are done with a candidate after so many looks at them."""

    architecture = "sm_90"

    def __init__(self, looks):
        self.looks, self.left = looks, {}

    def build(self, sources):
        self.left |= {name: self.looks[int(source)] for name, source, _ in sources}

    def built(self, timeout_s):
        self.left = {name: n - 1 for name, n in self.left.items()}
        done = [name for name, n in self.left.items() if n <= 0]
        for name in done:
            del self.left[name]
        return [Ahead(name, True) for name in done]

    def end_builds(self):
        pass


class Listed:
    """A space of candidates in Triton, the most promising first, without neighbours."""

    def __init__(self, n):
        self.numbers = list(range(n))

    def stream(self, leaders):
        while self.numbers:
            yield in_triton(self.numbers.pop(0))

    def outline(self, proposal):
        return Outline(())

    def goes_first(self, proposal):
        return False


class Expecting:
    """A model that expects these times, of one candidate after the other."""

    def __init__(self, times_ns):
        self.times_ns = iter(times_ns)

    def log_ns(self, candidates):
        return np.array([math.log(next(self.times_ns)) for _ in candidates])


class Runner:
    """A machine on which candidate ``best`` is the fastest, and negative times are failures."""

    def __init__(self, time_of):
        self.time_of, self.measured, self.adopted = time_of, Counter(), []

    def start(self):
        pass

    def adopt(self, proposal, trial):
        self.adopted.append(number_of(proposal))

    def measure(self, batch, stages=()):
        self.measured.update(map(number_of, batch))
        return [trial(number_of(one), self.time_of(number_of(one))) for one in batch]


def named(batch, trials):
    """The trials with the digests of candidates in Triton."""
    pairs = zip(batch, trials, strict=True)
    return [replace(trial, candidate=one.candidate.digest) for one, trial in pairs]


def trial(number, time_ns):
    outcome = TrialOutcome.FAILED if time_ns is None else TrialOutcome.MEASURED
    name = candidate(number).candidate.digest
    return Trial(name, "cpp", outcome, time_ns=time_ns, reference_ns=time_ns and 1000.0)


def tuned(runner, *, known=(), start=10, **options):
    pool = Pool(Numbers(start, 40), CostModel(machine("cpu", 1)))
    queue = BuildQueue(Process())
    tuner = Tuner(pool, runner, queue, batch_size=4, known=known, **options)
    tuner.run(time.monotonic() + 60)
    return tuner


@pytest.mark.parametrize("builds_ahead", [False, True])
def test_it_goes_on_from_what_was_measured(builds_ahead):
    runner = Runner(lambda number: 100.0 + 10 * abs(number - 20))
    tuner = tuned(runner, builds_ahead=builds_ahead)
    assert number_of(tuner.leaders[0]) == 20


def test_it_ends_when_gains_are_below_the_noise():
    runner = Runner(lambda number: 100.0)
    tuned(runner)
    assert len(runner.measured) <= 4 * (PATIENCE + 2)


def test_what_an_earlier_search_measured_is_not_measured_again():
    def time_of(number):
        return 100.0 + 10 * abs(number - 20)

    known = [trial(number, time_of(number)) for number in range(9, 18)]
    runner = Runner(time_of)
    tuner = tuned(runner, known=known)
    assert number_of(tuner.leaders[0]) == 20
    assert not set(runner.measured) & set(range(9, 18))
    assert 17 in runner.adopted  # new ones are measured beside the best of before


def test_only_clear_gains_over_what_has_passed_are_judged_later():
    tuner = tuned(Runner(lambda number: 100.0 + 10 * abs(number - 20)))
    twenty, other = candidate(20).candidate.digest, candidate(22).candidate.digest
    assert 20 in map(number_of, tuner.finalists(3, {other}))
    assert tuner.finalists(3, {twenty}) == []


@pytest.mark.parametrize("refused", [19, 20])
def test_neither_failures_nor_what_the_judge_refused_leads(refused):
    runner = Runner(lambda number: None if number == 19 else 100.0 + 10 * abs(number - 20))
    tuner = tuned(runner, start=21)
    tuner.drop(candidate(refused).candidate.digest)
    assert refused not in map(number_of, tuner.leaders)
    assert 19 not in map(number_of, tuner.leaders)


@pytest.mark.parametrize(("first_right", "least", "most"), [(None, 8, 11), (6, 7, 11), (0, 1, 4)])
def test_trials_end_with_their_time_when_many_have_failed(first_right, least, most):
    """A search that has measured nothing tries on for a while: one kind of kernels may fail."""
    numbers = []

    class Noting(Runner):
        def measure(self, batch, stages=()):
            numbers.extend(map(number_of, batch))
            return named(batch, super().measure(batch, stages))

    runner = Noting(lambda number: 100.0 if number == first_right else None)
    pool = Pool(Listed(200), CostModel(machine("cpu", 1)))
    Tuner(pool, runner, BuildQueue(Process()), batch_size=32).run(time.monotonic())
    assert least <= len(numbers) <= most


def test_the_best_are_raced_once_more():
    runner = Runner(lambda number: 100.0 + 10 * abs(number - 20))
    tuner = tuned(runner)
    before = runner.measured.total()
    assert [number_of(one) for one in tuner.finalists(1)] == [20]
    assert before < runner.measured.total() <= before + 8


def raced(looks, times_ns):
    """The numbers of the candidates of each race, where compilers take so many looks for each, and
    they take the times that are expected."""
    races = []

    class Noting(Runner):
        def measure(self, batch, stages=()):
            races.append([number_of(one) for one in batch])
            return named(batch, super().measure(batch, stages))

    pool = Pool(Listed(len(looks)), Expecting(times_ns))
    queue = BuildQueue(Compilers(looks))
    runner = Noting(times_ns.__getitem__)
    Tuner(pool, runner, queue, batch_size=4, builds_ahead=True).run(time.monotonic(), least_s=0.5)
    return races


def test_the_first_race_waits_for_the_candidate_that_promises_most():
    assert 0 in raced([1000, 1, 1, 1, 1, 1], [100.0 + n for n in range(6)])[0]


def test_candidates_without_promise_do_not_keep_the_machine_from_those_with_some():
    """Candidate 5 takes long to compile; those behind it are expected to be far slower."""
    times_ns = [100.0] * 6 + [900.0] * 8
    races = raced([1, 1, 1, 1, 10**9, 20, *[1] * 8], times_ns)
    assert [set(race) for race in races[:2]] == [{0, 1, 2, 3}, {5}]


def test_the_first_candidates_compile_before_the_search_begins():
    compilers, runner = Compilers([1, 1, 1]), Runner(lambda number: 100.0 + number)
    pool = Pool(Listed(3), CostModel(machine("cpu", 1)))
    tuner = Tuner(pool, runner, BuildQueue(compilers), batch_size=4, builds_ahead=True)
    tuner.get_ready()
    assert len(compilers.left) == 3
    tuner.run(time.monotonic() + 60)
    assert sorted(runner.measured) == [0, 1, 2]


class Failing:
    """A tuner's process of which nothing comes but these answers; a text is its builder's end."""

    architecture = "sm_90"

    def __init__(self, *answers):
        self.answers = list(answers)

    def build(self, sources):
        pass

    def built(self, timeout_s):
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, str):
            raise BuilderEnded(answer)
        return answer


def taken(process, n):
    """Take so many candidates from a queue; return it, and what it told."""
    told = []
    queue = BuildQueue(process, told.append)
    queue.add([in_triton(number) for number in range(n)])
    assert len(queue.take(n, n, time.monotonic() + 60)) == n
    return queue, told


def test_the_first_fault_of_compiling_ahead_is_told_and_all_failures_are_counted():
    names = [in_triton(number).candidate.digest for number in range(4)]
    faults = ["", "ImportError: planted", "another"]
    failed = [Ahead(name, False, fault) for name, fault in zip(names, faults, strict=False)]
    queue, told = taken(Failing(failed, [Ahead(names[3], True)]), 4)
    assert len(told) == 1 and not BuildQueue(Failing()).counted
    assert queue.counted == "candidates compiled ahead: 1; failed ahead: 3"
    assert "by no fault of its own: ImportError: planted; the search goes on" in told[0]


def test_a_candidates_own_compile_error_is_counted_and_not_told():
    queue, told = taken(Failing([Ahead(in_triton(0).candidate.digest, False)]), 1)
    assert queue.counted.endswith("0; failed ahead: 1") and not told


def test_the_end_of_the_process_that_compiles_ahead_is_told():
    queue, told = taken(Failing([], "no memory"), 3)
    assert queue.counted.endswith("0; failed ahead: 3") and len(told) == 1
    assert "no memory" in told[0]
