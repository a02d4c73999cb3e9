"""The verdict that an export is of: from a search, an archive, a receipt, or a candidate's file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.archive.conclusion import WORDS
from kernelwright.archive.receipt import Receipt
from kernelwright.core import plugins
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import ReceiptError, UsageError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.places import read_regular
from kernelwright.core.standing import SearchOutcome
from kernelwright.core.task import Task
from kernelwright.proposers.emitted import outdated
from kernelwright.report.chapter import chapters
from kernelwright.report.choice import best_of, chosen_task
from kernelwright.search.result import Result

BEST = "best"


@dataclass(frozen=True)
class Source:
    """A verdict, and the rules that made its candidate."""

    receipt: Receipt
    lineage: tuple[str, ...] = ()


def source_of(what: Result | Receipt | Path | str, archive: str, task: str | None = None) -> Source:
    """The verdict that ``what`` names: a Result, a Receipt, the path of a receipt or of a
    candidate's file, 'best' of ``task`` in the archive, or a candidate's digest there.

    Raises:
        UsageError: there is none; or the library stayed best, or older emitters wrote the kernel.
        ReceiptError: the file is a damaged receipt.
    """
    if isinstance(what, Receipt):
        return Source(what)
    if isinstance(what, Result):
        return _of_result(what)
    path = Path(what)
    if path.suffix == ".json":
        return Source(Receipt.read(path))
    if path.suffix == ".py":
        return _of_file(path, archive)
    with Archive(archive, create=False) as opened:
        if str(what) != BEST:
            return _archived(opened, str(what))
        chosen = chosen_task(opened, task)
        best = best_of(opened, chosen)
        if best is None:
            found = [f"{place.where}: {place.sentence}" for place in chapters(opened, [chosen])]
            raise _no_winner(chosen, "; ".join(found) or WORDS[SearchOutcome.NOTHING_JUDGED])
        return _of_pair(opened, chosen, *best)


def _of_result(result: Result) -> Source:
    if result.best is None or result.evaluation is None:
        raise _no_winner(result.task, result.conclusion.sentence(result.strongest))
    receipt = Receipt(result.task, result.best.candidate, result.evaluation)
    return Source(receipt, result.best.lineage)


def _of_pair(archive: Archive, task: Task, proposal: Proposal, evaluation: Evaluation) -> Source:
    if proposal.candidate.digest in outdated(archive.proposals(task.digest)):
        raise UsageError(
            f"an older version wrote {proposal.candidate.digest}",
            seen="a kernel from before faults of the emitted files were mended",
            do="run kernelwright optimize again, which writes it anew",
        )
    return Source(Receipt(task, proposal.candidate, evaluation), proposal.lineage)


def _archived(archive: Archive, digest: str) -> Source:
    proposal = archive.lineage(digest)[-1]
    verdicts = archive.evaluations(candidate=proposal.candidate.digest)
    if not verdicts:
        raise UsageError(
            "a kernel without a verdict is not exported",
            seen=f"{proposal.candidate.digest} was proposed and never judged",
            do="kernelwright judge TASK CANDIDATE --receipt r.json, then export r.json",
        )
    return _of_pair(archive, archive.task(verdicts[-1].task), proposal, verdicts[-1])


def _of_file(path: Path, archive: str) -> Source:
    """The verdict on the candidate in a file: a receipt beside it, or else one in the archive."""
    try:
        text = read_regular(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"candidate {path} cannot be read", seen=str(error), do="name a Python file"
        ) from error
    for receipt in receipts_beside(path):
        if receipt.candidate.source == text:
            return Source(receipt)
    dialects = plugins.names("kernelwright.dialects")
    digests = [Candidate(text, dialect).digest for dialect in dialects]
    with Archive(archive, create=False) as opened:
        for digest in digests:
            if opened.has_candidate(digest):
                return _archived(opened, digest)
    raise UsageError(
        f"there is no verdict on {path}",
        seen=f"no receipt of it in {path.parent}, and no such candidate in the archive",
        do=f"kernelwright judge TASK {path} --receipt r.json, then export r.json",
    )


def receipts_beside(path: Path) -> Iterator[Receipt]:
    """The receipts in the folder of a file."""
    for file in sorted(path.absolute().parent.glob("*.json")):
        try:
            yield Receipt.read(file)
        except ReceiptError:
            continue  # another JSON file


def _no_winner(task: Task, seen: str) -> UsageError:
    return UsageError(
        f"there is no kernel of {task.name} to export",
        seen=seen,
        do="use the library setting that is the result, or search longer: kernelwright optimize "
        "--budget 10m",
    )
