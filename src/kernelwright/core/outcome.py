"""Outcomes of a judgement: its status, and coded reasons and warnings.

Code decides by the codes. The text beside a code is for a person: much of it comes from a candidate
(its exceptions, what it printed), so nothing may be decided by searching it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.core.code import Code


class Status(StrEnum):
    """The outcome of a judgement."""

    PASSED = "passed"
    REJECTED = "rejected"
    BUILD_ERROR = "build_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    WRONG_SHAPE = "wrong_shape"
    WRONG_DTYPE = "wrong_dtype"
    WRONG_VALUES = "wrong_values"
    TAMPERED = "tampered"
    INFRA_ERROR = "infra_error"
    """The machine was to blame: the candidate was not measured, which is not the same as failed."""


class ReasonCode(StrEnum):
    """Why a candidate did not pass. Each code belongs to one status, and has a line that says what
    it means."""

    status: Status | None
    """The status of every verdict with this reason; None where it may be any."""
    meaning: str

    def __new__(cls, name: str, status: Status | None, meaning: str) -> ReasonCode:
        code = str.__new__(cls, name)
        code._value_ = name
        code.status = status
        code.meaning = meaning
        return code

    UNPARSABLE = "unparsable", Status.BUILD_ERROR, "The file is not valid Python."
    OTHER_ENCODING = (
        "other_encoding",
        Status.BUILD_ERROR,
        "The file names an encoding in which it reads otherwise than in UTF-8.",
    )
    NO_ENTRY = "no_entry", Status.BUILD_ERROR, "The file does not define the entry point."
    BUILD_RAISED = (
        "build_raised",
        Status.BUILD_ERROR,
        "Importing the file or constructing the module raised an exception.",
    )

    RAISED = "raised", Status.RUNTIME_ERROR, "The candidate raised an exception."
    EXITED = "exited", Status.RUNTIME_ERROR, "The candidate's process ended by itself."
    CRASHED = "crashed", Status.RUNTIME_ERROR, "A signal other than SIGKILL ended the process."
    KILLED = (
        "killed",
        Status.RUNTIME_ERROR,
        "SIGKILL ended the process, and the supervisor did not send it: Linux sends it where "
        "memory runs out.",
    )
    VANISHED = (
        "vanished",
        Status.RUNTIME_ERROR,
        "The process and its supervisor both stopped answering: Linux kills both where memory runs "
        "out.",
    )
    TOOK_TOO_MUCH_MEMORY = (
        "took_too_much_memory",
        Status.RUNTIME_ERROR,
        "The supervisor ended the process because it took more host memory than it may.",
    )
    FILLED_DISK = (
        "filled_disk",
        Status.RUNTIME_ERROR,
        "The supervisor ended the process because it filled the disk.",
    )
    RESISTED_OOM = (
        "resisted_oom",
        Status.RUNTIME_ERROR,
        "The supervisor ended the process because it tried not to be the first that Linux ends "
        "where memory runs out.",
    )
    HELD_DEVICE_MEMORY = (
        "held_device_memory",
        Status.RUNTIME_ERROR,
        "The candidate held most of the device's memory.",
    )
    DEVICE_MEMORY_SHORT = (
        "device_memory_short",
        Status.RUNTIME_ERROR,
        "The candidate failed while the judge saw too little free memory on the device.",
    )

    NO_ANSWER = "no_answer", Status.TIMEOUT, "The candidate did not answer in time."
    SLOW_RELEASE = (
        "slow_release",
        Status.TIMEOUT,
        "The candidate took too long to let its outputs go.",
    )
    KEEPS_COMPILING = (
        "keeps_compiling",
        Status.TIMEOUT,
        "A library setting compiles anew for every input.",
    )

    OUTPUT_COUNT = "output_count", Status.WRONG_SHAPE, "It returns another number of outputs."
    OUTPUT_NESTING = "output_nesting", Status.WRONG_SHAPE, "Its outputs are nested otherwise."
    OUTPUT_SHAPE = "output_shape", Status.WRONG_SHAPE, "An output has another shape."
    OUTPUT_DTYPE = "output_dtype", Status.WRONG_DTYPE, "An output has another dtype."
    OUTPUT_VALUES = "output_values", Status.WRONG_VALUES, "An output has wrong values."

    NOT_ADMITTED = (
        "not_admitted",
        Status.REJECTED,
        "The grammar of trials does not admit the file; only the fast judge of training asks.",
    )
    NOT_A_TENSOR = "not_a_tensor", Status.REJECTED, "An output is not a plain torch.Tensor."
    OUTPUT_DEVICE = "output_device", Status.REJECTED, "An output is on another device."
    OUTPUT_FOLDED = (
        "output_folded",
        Status.REJECTED,
        "Elements of an output share memory with each other.",
    )
    OUTPUT_SPREAD = (
        "output_spread",
        Status.REJECTED,
        "An output is a view of far too much memory.",
    )
    OUTPUT_UNREADABLE = (
        "output_unreadable",
        Status.REJECTED,
        "An output is not in the process's memory.",
    )
    OUTPUT_READ_ONLY = (
        "output_read_only",
        Status.REJECTED,
        "An output is in memory that cannot be written to.",
    )
    OUTPUT_MAPPED_TWICE = (
        "output_mapped_twice",
        Status.REJECTED,
        "Parts of outputs are the same memory at several addresses.",
    )
    OUTPUTS_OVERLAP = (
        "outputs_overlap",
        Status.REJECTED,
        "Outputs of one call share memory where the reference's do not.",
    )
    OUTPUT_REUSED = (
        "output_reused",
        Status.REJECTED,
        "An output is in the memory of an earlier output that the caller still holds.",
    )
    OUTPUT_OVERWRITTEN = (
        "output_overwritten",
        Status.REJECTED,
        "A later call changed an output that the caller still holds.",
    )
    WROTE_TO_INPUTS = (
        "wrote_to_inputs",
        Status.REJECTED,
        "It writes to inputs that the reference only reads.",
    )
    LEFT_PROCESSES = (
        "left_processes",
        Status.REJECTED,
        "It leaves processes running after a call.",
    )
    TOO_FAST_TO_WRITE = (
        "too_fast_to_write",
        Status.REJECTED,
        "It takes less time than the device needs to write the outputs.",
    )
    TOO_FAST_TO_READ = (
        "too_fast_to_read",
        Status.REJECTED,
        "It takes less time than the device needs to read the inputs.",
    )

    CHANNEL_ABUSED = (
        "channel_abused",
        Status.TAMPERED,
        "It wrote to the judge's own channel.",
    )
    NONSENSE_CLAIM = (
        "nonsense_claim",
        Status.TAMPERED,
        "It describes its outputs by nonsense.",
    )
    RAN_ON = "ran_on", Status.TAMPERED, "It ran on while it was to stand still."
    WORKED_BETWEEN_CALLS = (
        "worked_between_calls",
        Status.TAMPERED,
        "The device works for it while it waits for its inputs.",
    )
    WORKED_AFTER_CALL = (
        "worked_after_call",
        Status.TAMPERED,
        "The device works for it after it says that it is done.",
    )

    NO_TOOLCHAIN = "no_toolchain", Status.INFRA_ERROR, "This machine cannot run the dialect."
    NOT_STARTED = (
        "not_started",
        Status.INFRA_ERROR,
        "The candidate's process could not be set up; nothing of the candidate had run.",
    )
    DEVICE_FAILED = "device_failed", Status.INFRA_ERROR, "The device or a library setting failed."
    JUDGE_OUT_OF_MEMORY = (
        "judge_out_of_memory",
        Status.INFRA_ERROR,
        "The judge itself found too little memory.",
    )
    JUDGE_FAILED = (
        "judge_failed",
        Status.INFRA_ERROR,
        "The judge failed by a fault of its own.",
    )

    UNCLASSIFIED = (
        "unclassified",
        None,
        "A judge of before the codes gave this reason as text only.",
    )


class WarningCode(Code):
    """What a user should know although a candidate passed. Each code has a line that says what it
    means."""

    DEGENERATE_TASK = (
        "degenerate_task",
        "The task's output is constant, or does not depend on its inputs, or is mostly NaN: a fast "
        "kernel for it proves nothing.",
    )
    INPUTS_NOT_VARIED = (
        "inputs_not_varied",
        "Inputs that are the same in every draw were not varied: the reference takes no others.",
    )
    REFERENCE_REFUSES = (
        "reference_refuses",
        "The reference raises an error of its own on some inputs; the kernel was not asked to.",
    )
    NO_FLOAT64 = (
        "no_float64",
        "The reference does not run in float64 here: its own result is compared with.",
    )
    FLOAT64_DIFFERS = (
        "float64_differs",
        "The reference gives something else in float64: its own result is compared with.",
    )
    NOT_CHECKED = "not_checked", "The reference is slow: some kinds of input were not checked."
    REDUCED_PRECISION = (
        "reduced_precision",
        "A lower precision was asked for: the candidate may round to it, and the library does.",
    )
    EVAL_MODE = (
        "eval_mode",
        "The reference is random in training mode only: all modules were judged in eval mode.",
    )
    TF32 = (
        "tf32",
        "It has errors as TF32 has, which the library's flags allow for convolutions here: a "
        "comparison with float32 at 1e-4 may fail.",
    )
    NOT_TIMED = "not_timed", "The candidate was not timed."
    BASELINE_NOT_MEASURED = "baseline_not_measured", "A library setting was not measured."
    DEVICE_BUSY = (
        "device_busy",
        "Another program used the device while nothing was called: times are longer.",
    )
    NEIGHBOURS = "neighbours", "Other programs took a good part of the machine during the timing."
    SLOW_TO_START = (
        "slow_to_start",
        "Calls that follow each other are faster than the library's; a single call that is waited "
        "for is not, because starting it takes longer. A CUDA graph starts it for less.",
    )
    WAITS_FOR_DEVICE = (
        "waits_for_device",
        "Its calls wait for the device and cannot be queued as the library's are: its times hold "
        "what starting kernels costs, and the library's do not.",
    )
    DOES_LESS = (
        "does_less",
        "It is faster than the device could do the reference's arithmetic: it does less work.",
    )
    OUTPUTS_OVERLAP = (
        "outputs_overlap",
        "Small outputs share memory where the reference's do not.",
    )
    VARIES = "varies", "Results differ from run to run, within the allowed error."
    NOT_FINITE = (
        "not_finite",
        "An output has NaN or infinity otherwise than the reference has.",
    )
    LAST_DIGITS = "last_digits", "Results differ where the inputs' last digits decide."
    DIFFERS_RESAMPLED = "differs_resampled", "It differs when integer inputs are drawn anew."
    DIFFERS_SKEWED = "differs_skewed", "It differs when integer inputs are mostly alike."
    DIFFERS_SPECIAL = (
        "differs_special",
        "It treats NaN or infinity among the inputs otherwise than the reference.",
    )
    DIFFERS_OVERFLOWING = (
        "differs_overflowing",
        "It overflows on inputs so large that the reference nearly does.",
    )
    DIFFERS_EMPTY = (
        "differs_empty",
        "It treats rows of zeros among the inputs otherwise than the reference.",
    )
    UNCLASSIFIED = "unclassified", "A judge of before the codes gave this warning as text only."


@dataclass(frozen=True)
class Reason:
    """Why a candidate did not pass."""

    code: ReasonCode
    detail: str
    """For a person: where and what was seen. It may quote the candidate's own words."""

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True)
class Warned:
    """What a user should know although a candidate passed."""

    code: WarningCode
    detail: str
    """For a person: where and what was seen."""

    def __str__(self) -> str:
        return self.detail
