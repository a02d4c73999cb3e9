"""Which answers of a dataset are preferred over which others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.dataset.pairs import Pair
from kernelwright.train.prefer import choices


def answered(text, speed=None, status="passed", split="train", task="t", dialect="cpp"):
    low, high = (None, None) if speed is None else (speed * 0.98, speed * 1.02)
    return Pair(
        task_digest=task, task_name=task, task_source="", dialect=dialect, device="cpu",
        prompt=(("user", task),), answer=text, code="", status=status, kinds=(), speedup=speed,
        speedup_low=low, speedup_high=high, origin="policy", split=split, provenance="{}",
    )  # fmt: skip


def names(pairs, contrast=1.25, dialects=()):
    return {(one.answer, other.answer) for one, other in choices(pairs, dialects, contrast)}


def test_a_clearly_faster_kernel_and_a_correct_one_are_preferred():
    pairs = [answered("fast", 2.0), answered("near", 1.9), answered("slow", 1.0)]
    assert names(pairs) in ({("fast", "slow")}, {("near", "slow")})
    assert names([answered("untimed"), answered("wrong", status="wrong_values")]) == {
        ("untimed", "wrong")
    }


def test_answers_to_other_prompts_and_of_other_splits_are_not_compared():
    apart = [answered("a", 2.0), answered("b", 1.0, task="u"), answered("c", 1.0, dialect="triton")]
    for pairs in (apart, [answered("a", 2.0), answered("b", 1.0, split="validation")], []):
        with pytest.raises(UsageError, match="nothing to prefer"):
            choices(pairs, (), 1.25)
    with pytest.raises(UsageError, match="nothing to prefer"):
        choices([answered("a", 2.0), answered("b", 1.0)], ("triton",), 1.25)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=8), st.floats(1.05, 3))
def test_each_answer_is_rejected_at_most_once_and_for_a_clearly_faster_one(speeds, contrast):
    pairs = [answered(str(n), speed) for n, speed in enumerate(speeds)]
    pairs.append(answered("wrong", status="wrong_values"))
    found = choices(pairs, (), contrast)
    rejected = [other.answer for _, other in found]
    assert len(set(rejected)) == len(rejected) and "wrong" in rejected
    for one, other in found:
        assert one.status == "passed"
        assert other.answer == "wrong" or one.speedup >= contrast * other.speedup
