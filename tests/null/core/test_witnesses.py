"""Every setting is shown by a test to change an outcome, or it does not exist: which test it is."""

import ast
import dataclasses
from pathlib import Path

import pytest
from tests.null.archive.nouns import proposal, verdict

from kernelwright.archive import ranking
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings

TESTS = Path(__file__).parents[2]
WITNESSES = {
    "device": "null/loaders/test_load_suite.py:every_built_in_task_opens_at_the_size_for_its_device",  # noqa: E501
    "dialects": "null/cli/test_errors.py:a_dialect_that_this_machine_cannot_run",
    "proposers": "host/swarm/test_search.py:the_winner_of_the_rules_is_shown_to_the_swarm",
    "budget_s": "null/search/test_budget.py:no_candidate_is_begun_after_the_budget",
    "budget_tokens": "null/swarm/test_ledger.py:the_token_budget_is_exceeded_by_one_call_at_most",
    "budget_usd": "null/swarm/test_ledger.py:calls_in_flight_count_at_their_maximum_cost",
    "models": "null/swarm/test_round.py:an_answer_becomes_a_call_and_then_a_proposal",
    "contexts": "null/swarm/test_attached.py:without_the_attached_part_no_picture_is_shown",
    "attached": "null/swarm/test_attached.py:"
    "a_picture_goes_with_the_question_and_the_call_names_it",
    "prices": "null/swarm/test_ledger.py:calls_in_flight_count_at_their_maximum_cost",
    "try_admitted": "host/swarm/test_search.py:"
    "what_a_trial_finds_slower_gets_no_verdict_if_models_are_to_be_tried",
    "archive": "null/cli/test_commands.py:the_archive_may_be_named_in_the_settings_file",
    "out": "null/cli/test_answers.py:a_suite_counts_the_library_as_one_and_lists_what_failed",
    "threads": "null/cli/test_errors.py:a_setting_of_threads_that_do_not_fit_this_machine",
    "seed": "null/core/test_witnesses.py:another_seed_shows_other_exemplars",
    "cache": "null/judge/test_cold.py:a_cold_call_comes_after_a_flush_and_a_warm_one_does_not",
    "timed": "host/swarm/test_search.py:an_untimed_search_ends_with_the_first_correct_kernel",
    "precision": "host/judge/test_precision.py:"
    "what_is_refused_in_full_precision_passes_where_it_was_asked_for",
    "backward": "host/search/test_training_steps.py:"
    "a_file_of_ones_own_is_judged_on_its_gradients",
    "tries_uses": "host/compiler/test_gates.py:"
    "a_fault_is_warned_of_and_stands_in_the_result",
    "max_autotune": "null/judge/test_max_autotune.py:it_is_measured_only_where_it_is_asked_for",
    "compiled": "null/judge/test_max_autotune.py:nothing_is_compiled_where_that_is_not_wanted",
    "mode": "host/compiler/test_modes.py:the_judge_puts_candidates_and_baselines_into_the_mode",
}  # fmt: skip


def test_every_setting_has_a_witness():
    assert set(WITNESSES) == {field.name for field in dataclasses.fields(Settings)}


@pytest.mark.parametrize("witness", WITNESSES.values(), ids=WITNESSES)
def test_a_witness_is_a_test(witness):
    path, _, name = witness.partition(":")
    tree = ast.parse((TESTS / path).read_text())
    assert f"test_{name}" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_another_seed_shows_other_exemplars():
    history = [
        (said, verdict(said.candidate, Status.WRONG_VALUES))
        for said in (proposal(f"candidate {number}") for number in range(12))
    ]
    shown = [ranking.exemplars(history, 4, seed) for seed in range(6)]
    assert any(one != shown[0] for one in shown[1:])
