"""One task with a proposal and a verdict, small enough to write down."""

from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.evaluation import Cost, Environment, Evaluation, Numerics, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode
from kernelwright.core.task import Task, Workload

TASK = Task(name="relu", origin="kernelbench", source="class Model: ...", payload=b"\0\xff")
WORKLOAD = Workload(TASK.digest, (("float32", (64, 64)),))


def reason(text: str) -> Reason:
    """A reason without a code, which fits every status."""
    return Reason(ReasonCode.UNCLASSIFIED, text)


def warned(text: str) -> Warned:
    return Warned(WarningCode.UNCLASSIFIED, text)


def proposal(source: str = "class ModelNew: ...", **said) -> Proposal:
    return Proposal(Candidate(source, "cpp"), "rules", **said)


def verdict(candidate: Candidate, status: Status = Status.PASSED, **found) -> Evaluation:
    timing = Timing(
        {"candidate": (10, 11, 12), "eager": (20, 22, None), "compile": (15, 14, 16)},
        strongest="compile",
        clock="parent",
        cache="cold",
    )
    passed = status is Status.PASSED
    return Evaluation(
        **{
            "task": TASK.digest,
            "workload": WORKLOAD.digest,
            "candidate": candidate.digest,
            "status": status,
            "reasons": () if passed else (reason("element [3] is off by 0.5"),),
            "environment": Environment("cpu", {"cpu": "a 2-core machine", "threads": 2}),
            "seed": 2**62 + 1,
            "judge_version": 1,
            "numerics": Numerics(1e-7, 1e-8, 1e-6, ("task", "negated")),
            "timing": timing if passed else None,
            "cost": Cost(1.0, 0.5, 0.25),
        }
        | found
    )
