"""``kernelwright show``: a candidate of an archive, with its verdicts."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.archive import Archive
from kernelwright.archive.receipt import Receipt
from kernelwright.cli.options import ARCHIVE, JSON, RECEIPT
from kernelwright.console import answers
from kernelwright.console.terminal import Answer
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import load_settings
from kernelwright.report import facts
from kernelwright.report.choice import best_of, chosen_task


@click.command("show")
@click.argument("which", metavar="best|DIGEST")
@ARCHIVE
@click.option(
    "--task",
    metavar="NAME",
    help="Show the best candidate of this task. Default: the task that was run last.",
)
@RECEIPT
@JSON
def command(
    which: str, archive: str | None, task: str | None, receipt: Path | None, as_json: bool
) -> Answer:
    """Print the source of the best candidate, or of the one whose digest begins with DIGEST."""
    settings = load_settings(Path.cwd(), archive=archive)
    with Archive(settings.archive, create=False) as opened:
        if which == "best":
            chosen = chosen_task(opened, task)
            best = best_of(opened, chosen)
            if best is None:
                nothing = f"nothing in the archive beats the library on {chosen.name}"
                return Answer(
                    {"best": None, "task": chosen.digest}, answers.NOTHING_PASSED, [nothing]
                )
            proposal = best[0]
        else:
            proposal = opened.lineage(which)[-1]
        verdicts = opened.evaluations(candidate=proposal.candidate.digest)
        if receipt is not None:
            _write_receipt(opened, proposal.candidate, verdicts, receipt)
    found = facts.proposal_facts(proposal)
    found["evaluations"] = [facts.evaluation_facts(verdict) for verdict in verdicts]
    return Answer(found, answers.DONE, [proposal.candidate.source])


def _write_receipt(
    archive: Archive, candidate: Candidate, verdicts: list[Evaluation], path: Path
) -> None:
    """Write the receipt of the last of a candidate's verdicts."""
    if not verdicts:
        raise UsageError(
            "there is no verdict to write a receipt for",
            seen=f"{candidate.digest} was proposed and never judged",
            do="kernelwright judge TASK CANDIDATE --receipt FILE",
        )
    Receipt(archive.task(verdicts[-1].task), candidate, verdicts[-1]).write(path)
