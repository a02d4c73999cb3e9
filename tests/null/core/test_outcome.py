"""Codes of outcomes, and what texts of before the codes are taken for."""

import pytest

from kernelwright.core.old_texts import reason_of, warning_of
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode

REASONS = {
    "unparsable": ("build_error", "the file does not parse: SyntaxError: invalid syntax"),
    "no_entry": ("build_error", "the file defines no ModelNew; its classes: Model"),
    "build_raised": ("build_error", "import: ModuleNotFoundError: No module named 'x' (line 1)"),
    "raised": ("runtime_error", "on negated inputs: run: RuntimeError: out of memory"),
    "crashed": ("runtime_error", "the process died of signal 11\nFatal Python error"),
    "killed": ("runtime_error", "the process died of signal 9"),
    "took_too_much_memory": (
        "runtime_error",
        "the process died of signal 9\nmine\nkilled: it took more memory than it may",
    ),
    "exited": ("runtime_error", "the process ended with code 3"),
    "vanished": ("runtime_error", "the process stopped answering"),
    "held_device_memory": (
        "runtime_error",
        "it held 70 GiB of the device's memory, too much for the judge",
    ),
    "no_answer": ("timeout", "no answer within 10 s (run)"),
    "output_shape": ("wrong_shape", "on large inputs: the output has shape [3] instead of [4]"),
    "output_dtype": ("wrong_dtype", "output 1 is float64 instead of float32"),
    "output_values": ("wrong_values", "on other weights: the output is off by 0.5"),
    "wrote_to_inputs": ("rejected", "it writes to its inputs, which the reference does not"),
    "too_fast_to_read": ("rejected", "impossible: 1.2 µs for inputs that take 9.0 µs to read"),
    "ran_on": ("tampered", "it ran on while it was to stand still"),
    "judge_failed": ("infra_error", "the judge failed on it: KeyError: 3"),
    "unclassified": ("infra_error", "CUDA error: unknown"),
}
WARNINGS = {
    "degenerate_task": "degenerate task: output 0 is constant",
    "not_timed": "not timed: as asked",
    "baseline_not_measured": "library setting compile was not measured: no answer",
    "last_digits": "on large inputs: output 1: numbers differ where the inputs' last digits decide",
    "unclassified": "the moon is full",
}


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_of_before_gets_the_code_of_its_shape(code):
    status, text = REASONS[code]
    assert reason_of(Status(status), text) == Reason(ReasonCode(code), text)


def test_no_text_gets_a_code_of_another_status():
    for _, text in REASONS.values():
        for status in Status:
            assert reason_of(status, text).code.status in (None, status)


@pytest.mark.parametrize("code", WARNINGS)
def test_a_warning_of_before_gets_the_code_of_its_shape(code):
    assert warning_of(WARNINGS[code]) == Warned(WarningCode(code), WARNINGS[code])


def test_every_code_says_in_one_line_what_it_means():
    for code in (*ReasonCode, *WarningCode):
        assert code.meaning.endswith(".") and "\n" not in code.meaning
        assert code.value == code.name.lower()
