"""Codes for reasons and warnings that judges of before the codes gave as text only.

Archives and receipts of before hold such texts. A text of a known shape gets its code where the
status agrees; every other one is unclassified. The whole text stays as the detail.
"""

from __future__ import annotations

import re

from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode

_PLACE = r"(?:[^:\n]*: )?"
"""'on negated inputs: ', which stood before what was seen."""
_OUTPUT = r"(?:the output|output \d+)"
_REASONS = (
    (ReasonCode.UNPARSABLE, r"the file does not parse: "),
    (ReasonCode.OTHER_ENCODING, r"the file reads otherwise in "),
    (ReasonCode.NO_ENTRY, r"the file defines no "),
    (ReasonCode.BUILD_RAISED, r"(?:import|construct): "),
    (
        ReasonCode.TOOK_TOO_MUCH_MEMORY,
        rf"{_PLACE}the process died of signal 9\n(?s:.*)"
        r"killed: it took more memory than it may\Z",
    ),
    (
        ReasonCode.FILLED_DISK,
        rf"{_PLACE}the process died of signal 9\n(?s:.*)"
        r"killed: the disk that its scratch lies on lost most of its free space\Z",
    ),
    (
        ReasonCode.RESISTED_OOM,
        rf"{_PLACE}the process died of signal 9\n(?s:.*)"
        r"killed: it took back that it is the first to be ended where memory is short\Z",
    ),
    (ReasonCode.KILLED, rf"{_PLACE}the process died of signal 9$"),
    (ReasonCode.CRASHED, rf"{_PLACE}the process died of signal \d+$"),
    (ReasonCode.EXITED, rf"{_PLACE}the process ended with code \d+$"),
    (ReasonCode.VANISHED, rf"{_PLACE}the process stopped answering$"),
    (ReasonCode.HELD_DEVICE_MEMORY, r"it held \d+ GiB of the device's memory, "),
    (ReasonCode.RAISED, rf"{_PLACE}(?:map|run|load|build|prepare|copy|release|weights|call): "),
    (ReasonCode.SLOW_RELEASE, r"it took \d+ s to let the outputs of \d+ calls go"),
    (ReasonCode.NO_ANSWER, rf"{_PLACE}(?:no answer within \d+ s|.*) \(\w+\)\Z"),
    (ReasonCode.OUTPUT_COUNT, rf"{_PLACE}\d+ outputs instead of \d+"),
    (ReasonCode.OUTPUT_NESTING, rf"{_PLACE}its result is "),
    (ReasonCode.OUTPUT_SHAPE, rf"{_PLACE}{_OUTPUT} has shape "),
    (ReasonCode.OUTPUT_DTYPE, rf"{_PLACE}{_OUTPUT} is \w+ instead of \w+"),
    (ReasonCode.OUTPUT_VALUES, r""),
    (ReasonCode.NOT_A_TENSOR, rf"{_PLACE}{_OUTPUT} is not a plain torch\.Tensor: "),
    (ReasonCode.OUTPUT_DEVICE, rf"{_PLACE}{_OUTPUT} is on \S+, not on "),
    (ReasonCode.OUTPUT_FOLDED, rf"{_PLACE}{_OUTPUT} has elements that lie in the same memory"),
    (ReasonCode.OUTPUT_SPREAD, rf"{_PLACE}{_OUTPUT} spans \d+ elements of memory"),
    (ReasonCode.OUTPUT_UNREADABLE, rf"{_PLACE}{_OUTPUT} is not in the process's memory"),
    (ReasonCode.OUTPUT_READ_ONLY, rf"{_PLACE}an output lies in memory that may not be written to"),
    (ReasonCode.OUTPUT_MAPPED_TWICE, rf"{_PLACE}parts of outputs are the same memory, mapped"),
    (ReasonCode.OUTPUTS_OVERLAP, rf"{_PLACE}outputs \d+ and \d+ have memory in common"),
    (ReasonCode.OUTPUT_REUSED, rf"{_PLACE}an output lies in the memory of another call's"),
    (ReasonCode.OUTPUT_OVERWRITTEN, rf"{_PLACE}an output that the caller still held was overwr"),
    (ReasonCode.WROTE_TO_INPUTS, rf"{_PLACE}it writes to (?:its inputs|inputs that)"),
    (ReasonCode.LEFT_PROCESSES, rf"{_PLACE}it leaves processes running after a call"),
    (ReasonCode.TOO_FAST_TO_WRITE, r"impossible: \S+ µs for outputs that take "),
    (ReasonCode.TOO_FAST_TO_READ, r"impossible: \S+ µs for inputs that take "),
    (ReasonCode.CHANNEL_ABUSED, rf"{_PLACE}the judge's channel was written to: "),
    (ReasonCode.NONSENSE_CLAIM, rf"{_PLACE}{_OUTPUT} is described by nonsense: "),
    (ReasonCode.RAN_ON, rf"{_PLACE}it ran on while it was to stand still"),
    (ReasonCode.WORKED_BETWEEN_CALLS, r"the device works for it while it waits for its inputs"),
    (ReasonCode.WORKED_AFTER_CALL, r"work goes on for \S+ µs after it says that it is done"),
    (ReasonCode.JUDGE_FAILED, r"the judge failed on it: "),
)
_WARNINGS = (
    (WarningCode.DEGENERATE_TASK, r"degenerate task: "),
    (WarningCode.INPUTS_NOT_VARIED, r"(?:some )?inputs that are the same in every draw are not"),
    (WarningCode.REFERENCE_REFUSES, r"the reference refuses some inputs "),
    (WarningCode.NO_FLOAT64, r"float64 is not possible for this reference"),
    (WarningCode.FLOAT64_DIFFERS, r"in float64 this reference gives something else"),
    (WarningCode.NOT_CHECKED, r"the reference is slow: not checked on "),
    (WarningCode.REDUCED_PRECISION, r"\w+ was asked for: the candidate may round to it"),
    (WarningCode.NOT_TIMED, r"not timed: "),
    (WarningCode.BASELINE_NOT_MEASURED, r"library setting \S+ was not measured: "),
    (WarningCode.DEVICE_BUSY, r"the device works for somebody while nobody is called, "),
    (WarningCode.NEIGHBOURS, r"other programs took \d+% "),
    (WarningCode.DOES_LESS, r"faster than the reference's own arithmetic at this device's"),
    (WarningCode.OUTPUTS_OVERLAP, r"outputs \d+ and \d+ have memory in common"),
    (WarningCode.VARIES, r"results differ from run to run by "),
    (WarningCode.DIFFERS_RESAMPLED, r"differs when integer inputs are resampled: "),
    (WarningCode.DIFFERS_SKEWED, r"differs when integer inputs are skewed: "),
    (WarningCode.DIFFERS_SPECIAL, r"treats NaN or infinity in the inputs otherwise than"),
    (WarningCode.DIFFERS_OVERFLOWING, r"overflows on inputs so large that the reference nearly"),
    (WarningCode.DIFFERS_EMPTY, r"treats rows of zeros in the inputs otherwise than"),
    (WarningCode.NOT_FINITE, rf"{_PLACE}{_OUTPUT} (?:has NaN or infinity where|is not finite wh)"),
    (WarningCode.LAST_DIGITS, rf"{_PLACE}{_OUTPUT}: (?:whole )?numbers differ where "),
)


def reason_of(status: Status, text: str) -> Reason:
    """The reason that a verdict of before gave as ``text``."""
    for code, shape in _REASONS:
        if code.status is status and re.match(shape, text, re.MULTILINE):
            return Reason(code, text)
    return Reason(ReasonCode.UNCLASSIFIED, text)


def warning_of(text: str) -> Warned:
    """The warning that a verdict of before gave as ``text``."""
    for code, shape in _WARNINGS:
        if re.match(shape, text):
            return Warned(code, text)
    return Warned(WarningCode.UNCLASSIFIED, text)
