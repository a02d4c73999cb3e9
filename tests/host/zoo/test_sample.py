"""A part of the zoo that is quick enough for every commit; ``make zoo`` judges all of it."""

from __future__ import annotations

from kernelwright.testing.zoo import Result, cases, run

SAMPLE = (
    # values
    "stale_memory", "last_tile_unwritten", "cache_by_shape", "half_softmax", "previous_call",
    "softmax_without_maximum", "half_the_batch", "smaller_output", "nan_everywhere",
    "widens_afterwards", "mean_of_an_eighth",
    # weights
    "products_left_out", "scalar_branch_left_out", "diagonal_recurrence",
    # the caller's memory and the judge's channel
    "forged_types", "forged_nesting", "early_bell_queue", "points_at_inputs", "pickled_code",
    # the machine
    "steals_environment", "steals_files", "steals_from_memory", "network", "kills_everyone",
    "edits_harness", "crashes", "raises_exit", "persuasive_comment", "identity", "returns_input",
    # honest
    "softmax_by_log_softmax", "online_softmax_in_blocks", "slice_of_larger_buffer",
    "cpp_online_softmax", "mapped_over_rows", "custom_operator", "talkative",
    "bfloat_product_unfused", "widened_in_parts", "rotary_in_double", "chosen_by_stable_sort",
    "variances_by_rsqrt",
)  # fmt: skip


def test_sample_of_the_zoo() -> None:
    known = {case.name: case for case in cases(device="cpu")}
    outcomes = run("cpu", [known[name] for name in SAMPLE], timed=False)
    assert len(outcomes) == len(SAMPLE)
    assert [(o.case.name, o.result, o.why) for o in outcomes if o.is_failure] == []


def test_what_is_named_first_is_judged_first() -> None:
    """A run may be cut off before its end."""
    known = {case.name: case for case in cases(device="cpu")}
    chosen = [known["nan_everywhere"], known["custom_operator"]]
    assert chosen[0].task > chosen[1].task
    assert [o.case.name for o in run("cpu", chosen, timed=False)] == [c.name for c in chosen]


def test_tasks_are_judged_side_by_side() -> None:
    known = {case.name: case for case in cases(device="cpu")}
    chosen = [known[name] for name in ("nan_everywhere", "steals_files", "persuasive_comment")]
    seen = []
    outcomes = run("cpu", chosen, timed=False, jobs=2, report=seen.append)
    assert seen == outcomes
    assert {o.case.name: o.result for o in outcomes} == {c.name: Result.HELD for c in chosen}
