"""What orders candidates before they are tried, and what the trials of a search add."""

import math
import random
import sys

import numpy as np
import pytest

from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.trial import Outline, StepOutline, Trial, TrialOutcome
from kernelwright.tuner.cost_model import CostModel, held_out, quality, rank_correlation
from kernelwright.tuner.prior import machine, prior_ns
from kernelwright.tuner.surrogate import gains

GPU = machine("cuda", 1)


def nest(rows, columns, name="step", **form):
    n_bytes = 8.0 * rows * columns
    sizes = {"bytes": n_bytes, "flops": 3.0 * rows * columns, "rows": rows, "columns": columns}
    return StepOutline(name, "nest", {"row": 1, **form}, sizes)


def library(n_bytes):
    return StepOutline(
        "", "library", {"torch.ops.aten.relu.default": 1}, {"bytes": n_bytes, "flops": 1.0}
    )


def schedule(variant="fused", **knobs):
    return {"variant": variant, "kernels": {"step": knobs}}


def test_fused_steps_are_expected_to_be_faster_than_one_that_moves_everything_twice():
    fused = Outline((nest(8192, 4096),))
    apart = Outline((nest(8192, 4096), library(8.0 * 8192 * 4096)))
    knobs = schedule(shape="row", rows=1, threads=256, vector=4, keep=True)
    assert prior_ns(fused, knobs, GPU) < 0.7 * prior_ns(apart, knobs, GPU)


def test_few_programs_leave_a_gpu_idle():
    outline = Outline((nest(64, 65536),))
    whole = prior_ns(outline, schedule(shape="row", block=65536, warps=32), GPU)
    cut = prior_ns(outline, schedule(shape="row", block=4096, warps=8, parts=16), GPU)
    assert cut < whole


def trials(task, n, time_of, seed):
    """Trials of one task: candidates with random knobs."""
    rng = random.Random(f"{task} {seed}")
    outline = Outline((nest(rng.choice((512, 4096, 32768)), rng.choice((256, 1024))),))
    found = []
    for number in range(n):
        knobs = {
            "shape": "row", "rows": rng.choice((1, 2, 4)), "threads": rng.choice((64, 128, 256)),
            "vector": rng.choice((1, 2, 4)), "keep": True,
        }  # fmt: skip
        told = schedule(**knobs)
        time_ns = prior_ns(outline, told, GPU) * time_of(knobs) * rng.uniform(0.99, 1.01)
        found.append(
            Trial(
                f"{task} {number}",
                "cuda",
                TrialOutcome.MEASURED,
                told,
                time_ns=time_ns,
                reference_ns=time_ns,
                outline=outline,
            )
        )
    return found


def past(n_tasks=8, n=16):
    return {
        (f"t{t}", "here"): trials(f"t{t}", n, lambda k: 2.0 / k["vector"], 0)
        for t in range(n_tasks)
    }


def test_what_other_tasks_showed_orders_the_candidates_of_a_new_one():
    pytest.importorskip("sklearn")
    model = CostModel(GPU, past())
    assert model.is_learned and "128 trials of 8 tasks" in str(model)
    group = trials("new", 24, lambda k: 2.0 / k["vector"], 1)
    told = [(t.outline, t.schedule, t.dialect) for t in group]
    measured = [t.time_ns for t in group]
    learned = rank_correlation(model.log_ns(told), measured)
    assert learned > 0.9 > rank_correlation(CostModel(GPU).log_ns(told), measured)


def test_quality_is_measured_on_tasks_that_were_held_out():
    pytest.importorskip("sklearn")
    found = held_out(GPU, past(10, 12))
    assert found["model"].n_tasks == 10
    assert found["model"].rank_correlation > 0.8 > found["list"].rank_correlation
    assert found["model"].regret[4] < 0.05 < found["list"].regret[1]


def test_few_trials_teach_nothing():
    model = CostModel(GPU, past(2))
    assert not model.is_learned and not model.why_not and str(model) == "a roofline prior"


def test_the_prior_stands_in_for_a_missing_library_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    model = CostModel(GPU, past())
    assert not model.is_learned
    assert "pip install 'kernelwright[tuner]'" in model.why_not
    group = trials("new", 4, lambda k: 1.0, 1)
    assert len(model.log_ns([(t.outline, t.schedule, t.dialect) for t in group])) == 4


def test_regret_is_what_the_first_k_miss():
    found = quality([([1.0, 2.0, 3.0], [30.0, 20.0, 10.0])], ks=(1, 2, 3))
    assert found.rank_correlation == pytest.approx(-1.0)
    assert [found.regret[k] for k in (1, 2, 3)] == pytest.approx([2.0, 1.0, 0.0])


def proposal(**knobs):
    return Proposal(Candidate(str(knobs), "cuda"), "rules", schedule=schedule(**knobs))


def test_candidates_near_fast_ones_promise_more_than_those_near_slow_ones():
    tried = [
        (proposal(threads=64, vector=4), 0.0, math.log(1.0)),
        (proposal(threads=1024, vector=1), 0.0, math.log(2.0)),
    ]
    near, far = proposal(threads=128, vector=4), proposal(threads=512, vector=1)
    found = gains(tried, [(near, 0.0), (far, 0.0)])
    assert found[0] > 2 * found[1] > 0


def test_no_gain_is_expected_where_all_that_is_near_takes_as_long():
    tried = [(proposal(threads=2**n, vector=4), 0.0, 0.001 * (n % 2)) for n in range(5, 11)]
    [found] = gains(tried, [(proposal(threads=96, vector=4), 0.0)])
    assert found < 0.01
    [other] = gains(tried, [(proposal(threads=96, vector=4), -0.2)])
    assert other > 0.1  # if the model expected it to be faster


def test_before_any_trial_the_expected_time_decides():
    found = gains([], [(proposal(threads=64), 3.0), (proposal(threads=128), 2.0)])
    assert np.argmax(found) == 1
