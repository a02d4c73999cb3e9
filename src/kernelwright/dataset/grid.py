"""The grid on disk: measured schedules of tasks, as a table with a data card."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core import schedule_line
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Environment
from kernelwright.core.places import written_whole
from kernelwright.core.schedule_line import LINE, OF
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.dataset import cards
from kernelwright.dataset.parquet import arrow, clean

FILE = "grid.parquet"
RULES = "rules"


@dataclass(frozen=True)
class Measured:
    """One schedule of one program of a task, as the tuner measured it."""

    task_digest: str
    task_name: str
    task_origin: str
    task_source: str
    task_entry: str
    proposer: str
    """Who wrote the program."""
    lineage: tuple[str, ...]
    program: str
    """The same for all schedules of a program."""
    candidate: str
    """The digest of the text."""
    dialect: str
    code: str
    """The text; empty for what the rules wrote, which their schedule gives again."""
    schedule: str
    """JSON: the constants of the schedule line, or the rules' schedule."""
    is_as_written: bool
    """Whether the program was written with this schedule line."""
    outcome: str
    """'measured', or how its trial ended."""
    detail: str
    time_ns: float | None
    """Time of a call in nanoseconds, the lower quartile; None if it was not timed."""
    low_ns: float | None
    high_ns: float | None
    """The interval of ``time_ns``."""
    reference_ns: float | None
    """The same of the task's module in eager mode."""
    n_samples: int
    device: str
    environment: str
    """JSON: the machine and its software."""
    tuner_version: int

    @property
    def task(self) -> Task:
        return Task(self.task_name, self.task_origin, self.task_source, self.task_entry)

    @property
    def proposal(self) -> Proposal:
        """The schedule's text as its author would propose it."""
        candidate = Candidate(self.code, self.dialect)
        return Proposal(candidate, self.proposer, self.lineage, {LINE: json.loads(self.schedule)})

    @property
    def place(self) -> Environment:
        return Environment(self.device, json.loads(self.environment))

    @property
    def trial(self) -> Trial:
        """The trial that the row was made of."""
        return Trial(
            candidate=self.candidate,
            dialect=self.dialect,
            outcome=TrialOutcome(self.outcome),
            schedule={LINE: json.loads(self.schedule)},
            detail=self.detail,
            time_ns=self.time_ns,
            reference_ns=self.reference_ns,
            n_samples=self.n_samples,
            low_ns=self.low_ns,
            high_ns=self.high_ns,
        )


def build_grid(archives: Sequence[str], *, out: str | Path, command: str) -> list[Measured]:
    """Write all trials of ``archives`` as a table to ``out``, with a data card.

    Tasks that need more than their text are left out, and those on which checkpoints were examined:
    nothing should learn from them. Of several trials of one candidate in one environment the last
    one counts.

    Raises:
        UsageError: ``out`` holds a README.md that kernelwright did not write, or pyarrow is
            missing.
        ArchiveError: an archive cannot be read.
        OSError: ``out`` is not writable.
    """
    arrow()
    folder = Path(out)
    cards.require_place(folder)
    found: dict[tuple[str, ...], Measured] = {}
    examined: set[str] = set()
    for url in archives:
        with Archive(url, create=False) as archive:
            for task in archive.tasks():
                if archive.is_examined(task.digest):
                    examined.add(task.digest)
                elif task.payload is None and not (task.import_roots and task.origin == "module"):
                    for row in _rows(archive, task):
                        found[row.task_digest, row.candidate, row.device, row.environment] = row
    rows = [row for row in found.values() if row.task_digest not in examined]
    write_grid(rows, folder)
    _write_card(rows, folder, command)
    return rows


def open_grid(path: str | Path) -> list[Measured]:
    """Read the rows of a grid's folder or table.

    Raises:
        UsageError: there is no such table, or pyarrow is missing.
    """
    pa, parquet = arrow()
    table = Path(path) / FILE if Path(path).is_dir() else Path(path)
    try:
        rows = parquet.read_table(table, columns=[f.name for f in fields(Measured)]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UsageError(
            f"{path} holds no grid",
            seen=str(error).partition("\n")[0],
            do="name a folder that `kernelwright dataset grid` wrote",
        ) from error
    return [Measured(**row | {"lineage": tuple(row["lineage"])}) for row in rows]


def write_grid(rows: Sequence[Measured], folder: Path) -> Path:
    """Write the table to ``folder`` and return its path.

    Raises:
        UsageError: pyarrow is not installed.
    """
    pa, parquet = arrow()
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"float | None": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    kinds["str"] = pa.string()
    kinds["tuple[str, ...]"] = pa.list_(pa.string())
    schema = pa.schema([(field.name, kinds[str(field.type)]) for field in fields(Measured)])
    table = pa.Table.from_pylist([clean(asdict(row)) for row in rows], schema=schema)
    with written_whole(folder / FILE) as partial:
        parquet.write_table(table, partial, compression="zstd")
    return folder / FILE


def _rows(archive: Archive, task: Task) -> Iterator[Measured]:
    """Yield the rows of a task's trials: of the rules' candidates, and of schedule lines."""
    bases = {p.candidate.digest: p for p in archive.proposals(task.digest)}
    for place, version, trial in archive.trials_everywhere(task.digest):
        base = bases.get(str(trial.schedule.get(OF, trial.candidate)))
        own = schedule_line.read(base.candidate.source) if base else {}
        line = trial.schedule.get(LINE, own)  # a search tries a program first as it is written
        code = _text(base, trial, line) if base and line else ""
        if not code and "variant" not in trial.schedule:
            continue  # nothing tells what was measured
        schedule = line if code else trial.schedule
        yield Measured(
            task_digest=task.digest,
            task_name=task.name,
            task_origin=task.origin,
            task_source=task.source,
            task_entry=task.entry,
            proposer=base.proposer if base else RULES,
            lineage=base.lineage if base else (),
            program=schedule_line.program(code) or (trial.outline.digest if trial.outline else ""),
            candidate=trial.candidate,
            dialect=trial.dialect,
            code=code,
            schedule=json.dumps(dict(schedule), sort_keys=True),
            is_as_written=bool(code) and schedule == own,
            outcome=trial.outcome.value,
            detail=trial.detail,
            time_ns=trial.time_ns,
            low_ns=trial.low_ns,
            high_ns=trial.high_ns,
            reference_ns=trial.reference_ns,
            n_samples=trial.n_samples,
            device=place.device,
            environment=json.dumps(dict(place.facts), sort_keys=True),
            tuner_version=version,
        )


def _text(base: Proposal, trial: Trial, line: schedule_line.Schedule) -> str:
    """Return the text that was measured; empty if its digest is not the trial's."""
    try:
        source = schedule_line.rewritten(base.candidate.source, line)
    except ValueError:
        return ""
    is_it = Candidate(source, trial.dialect, base.candidate.entry).digest == trial.candidate
    return source if is_it else ""


def _write_card(rows: Sequence[Measured], folder: Path, command: str) -> None:
    cards.write(
        folder,
        "kernelwright.dataset",
        "grid.md.j2",
        command=command,
        n_rows=len(rows),
        n_tasks=len({row.task_digest for row in rows}),
        n_programs=len({(row.task_digest, row.program) for row in rows}),
        outcomes=Counter(row.outcome for row in rows).most_common(),
        origins=Counter((row.proposer, row.dialect) for row in rows).most_common(),
        machines=Counter((row.device, _machine(row)) for row in rows).most_common(),
        spreads=_spreads(rows),
    )


def _machine(row: Measured) -> str:
    facts: dict[str, Any] = json.loads(row.environment)
    return str(facts.get("gpu") or facts.get("processor") or "unknown")


def _spreads(rows: Sequence[Measured]) -> list[float]:
    """Return, for every program with several timed schedules, median time over best time, in
    order."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row.time_ns is not None:
            key = (row.task_digest, row.program, row.environment)
            times.setdefault(key, []).append(row.time_ns)
    several = [sorted(each) for each in times.values() if len(each) > 1]
    return sorted(each[len(each) // 2] / each[0] for each in several)
