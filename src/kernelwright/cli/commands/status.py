"""``kernelwright status``: the searches of an archive that have not ended, seen from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import RenderableType

from kernelwright.archive import Activity, Archive
from kernelwright.cli.options import ARCHIVE, JSON
from kernelwright.console import answers
from kernelwright.console.terminal import Answer
from kernelwright.core.settings import load_settings
from kernelwright.report.table import plain_table

QUIET_S = 600.0
"""A search that has written nothing for so long was probably cut off."""


@click.command("status")
@ARCHIVE
@JSON
def command(archive: str | None, as_json: bool) -> Answer:
    """Show the searches that have not ended: what each has tried, judged, and written last.

    It reads only the archive, so that it can be called on any host. A search that was killed looks
    like one that has been quiet for long.
    """
    settings = load_settings(Path.cwd(), archive=archive)
    with Archive(settings.archive, create=False) as opened:
        found = opened.activities()
        n_trials, n_verdicts = opened.counts()
        at_most = "at most " if opened.has_gaps else ""
    now = datetime.now(UTC)
    searches = [_facts(one, now) for one in found]
    return Answer(
        {"searches": searches, "trials": n_trials, "verdicts": n_verdicts},
        answers.DONE,
        [
            _table(searches),
            f"the archive holds {at_most}{n_trials} trials and {n_verdicts} verdicts",
        ],
    )


def _facts(one: Activity, now: datetime) -> dict[str, object]:
    quiet_s = (now - datetime.fromisoformat(one.last_at)).total_seconds()
    return {
        "task": one.task_name,
        "run": one.run.id,
        "started_at": one.run.started_at,
        "trials": one.n_trials,
        "verdicts": one.n_verdicts,
        "quiet_s": quiet_s,
        "was_cut_off": quiet_s > QUIET_S,
    }


def _table(searches: Sequence[dict[str, object]]) -> RenderableType:
    if not searches:
        return "no search is going on"
    table = plain_table("task", "started", "trials", "verdicts", "last wrote", "")
    for one in searches:
        note = "probably cut off" if one["was_cut_off"] else ""
        table.add_row(
            str(one["task"]),
            str(one["started_at"])[:19],
            str(one["trials"]),
            str(one["verdicts"]),
            f"{one['quiet_s']:.0f} s ago",
            note,
        )
    return table
