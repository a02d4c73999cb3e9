"""The more kernels a candidate has, the fewer are compiled for a budget."""

import time

from tests.null.tuner.test_tuner import Compilers, Listed, Runner

from kernelwright.core.trial import Outline, StepOutline
from kernelwright.tuner.cost_model import CostModel
from kernelwright.tuner.paying import FEWEST, n_kernels, n_payable
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.tuner import AHEAD, Tuner


def network(n_different: int, n_alike: int = 3) -> Outline:
    steps = [
        StepOutline(f"step_{size}_{copy}", "nest", {"add": 1}, {"rows": float(size)})
        for size in range(n_different)
        for copy in range(n_alike)
    ]
    return Outline((*steps, StepOutline("", "library", {"aten.conv2d": 1}, {"flops": 1.0})))


def test_equal_kernels_are_compiled_once_and_the_librarys_are_not():
    assert n_kernels(network(5)) == 5


def test_a_budget_of_seconds_pays_for_many_small_candidates_and_few_of_a_network():
    product = Outline((StepOutline("step", "product", {}, {"k": 64.0}),))
    assert n_payable(product, 4.0) >= AHEAD
    assert FEWEST < n_payable(network(36), 4.0) < 6
    assert n_payable(network(150), 4.0) == FEWEST
    assert n_payable(network(150), 60.0) >= 12


def test_no_more_candidates_compile_at_a_time_than_are_paid_for():
    compilers, runner = Compilers([1] * 12), Runner(lambda number: 100.0 + number)
    begun: list[int] = []
    build = compilers.build
    compilers.build = lambda sources: (build(sources), begun.append(len(compilers.left)))
    pool = Pool(Listed(12), CostModel(machine("cpu", 1)))
    tuner = Tuner(
        pool,
        runner,
        BuildQueue(compilers),
        batch_size=4,
        builds_ahead=True,
        payable=lambda proposal: 2,
    )
    tuner.get_ready()
    assert len(compilers.left) == 2
    tuner.run(time.monotonic() + 60)
    assert max(begun) == 2 and len(runner.measured) > 2
