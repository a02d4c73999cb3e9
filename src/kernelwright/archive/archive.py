"""The archive: facts are appended and read back as core's nouns; only a run's end comes later."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kernelwright.archive import rows, tables
from kernelwright.archive.appends import FactsOfEnd, Finished, Rows, content
from kernelwright.archive.away import until_back
from kernelwright.archive.connect import connect, migrate, parse, require_writable, shown
from kernelwright.archive.errors import explained
from kernelwright.archive.writer import Writer, now
from kernelwright.core.call import EXAM, Call, PastCall
from kernelwright.core.candidate import Candidate, Exemplar, Proposal
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.ids import new_id
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.core.trial import Trial

_BY_TIME = (tables.run, tables.call)
PAST_CALLS = 5000
"""The most calls on other tasks that a search learns from."""
_AFTER_DIGITS = "g"
"""A character that sorts after all hexadecimal digits."""


@dataclass(frozen=True)
class Run:
    """One run of the search: what it was told, by which version, and when."""

    id: str
    task: str
    settings: Mapping[str, Any]
    version: str
    started_at: str
    finished_at: str | None
    """None where the run is going on, or was cut off."""


@dataclass(frozen=True)
class Step:
    """What one step of training logged."""

    stage: str
    """The stage's folder, which its checkpoints are in: one name for all that goes on in it."""
    number: int
    recipe: Mapping[str, Any]
    facts: Mapping[str, Any]
    """By the name under which it was logged: 'loss', 'share/right', …"""


@dataclass(frozen=True)
class Activity:
    """A run that has not ended, and how far it is."""

    run: Run
    task_name: str
    n_trials: int
    n_verdicts: int
    last_at: str
    """When it last wrote something."""


class Archive:
    """The store behind a path, a folder or a URL; opened, created and migrated as needed.

    Every write is one transaction: a process killed at any point leaves the archive intact. Any
    number of processes may read and write at once. Writes to a server that is away wait on the
    disk, and reads wait for it; so does opening it, if it was reached from this machine before.

    Raises:
        ArchiveError: damaged, locked, newer than this version, read only while ``create`` is true,
            or absent while it is false. Every method raises it too, and DeviceError when the disk
            is full.
    """

    def __init__(self, target: str | Path, *, create: bool = True) -> None:
        url = parse(target)
        self.url = url.render_as_string(hide_password=False)
        self._where = shown(url)
        self._engine = connect(url, create=create)
        self._task_of: dict[str, str] = {}
        self._writer: Writer = Writer(self._engine, self._where)
        opened = until_back(self._open) if self._writer.is_known else self._open
        opened(create)

    def _open(self, create: bool) -> None:
        with explained(self._where):
            migrate(self._engine, self._where)
            if create:
                require_writable(self._engine, self._where)
        self._writer.begin(writes=create)

    def close(self) -> None:
        """Wait for what has not reached the server yet, and close the connections; the archive is
        not used afterwards."""
        try:
            self._writer.close()
        finally:
            self._engine.dispose()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what is appended ----------------------------------------------------------------------

    def add_task(self, task: Task, workloads: Iterable[Workload] = ()) -> None:
        """Add a task and workloads of it; those already there stay as they are."""
        of_task = [content(tables.workload, rows.from_content(each)) for each in workloads]
        self._writer.add(content(tables.task, rows.from_content(task)), *of_task)

    def start_run(self, task: Task, settings: Settings) -> str:
        """The id of a new run of a task that is in the archive. It sorts after all runs and calls
        there, and by its time."""
        told = dataclasses.asdict(settings) | {"archive": self._where}  # without a password
        newest = [sa.select(sa.func.max(t.c.id).label("id")) for t in _BY_TIME]
        last = [row["id"] for query in newest for row in self._read(query)]
        run = new_id(after=max(filter(None, last), default=""))
        version = importlib.metadata.version("kernelwright")
        row = {"id": run, "task": task.digest, "settings": told, "version": version}
        self._task_of[run] = task.digest
        self._writer.add(Rows("run", [row | {"started_at": now()}]))
        return run

    def finish_run(self, run: str, ended: Mapping[str, Any] | None = None) -> None:
        """Say that a run came to its end; one that was cut off is never finished.

        ``ended`` are facts about an end that no verdict tells of; they are added to its settings.
        """
        self._writer.add(Finished(run, now(), ended))

    def add_to_end(self, task: str, **facts: Any) -> None:
        """Add facts to the end of a task's last run that were found out after it."""
        self._writer.add(FactsOfEnd(task, facts))

    def add_proposal(
        self, run: str, proposal: Proposal, exemplars: Sequence[Exemplar] = ()
    ) -> None:
        """Add what a proposer said, with the exemplars that it had been shown."""
        said = rows.from_proposal(proposal) | {"run": run, "created_at": now()}
        shown_ones: list[dict[str, Any]] = [
            {"position": place, "candidate": one.proposal.candidate.digest, "role": one.role}
            for place, one in enumerate(exemplars)
        ]
        self._writer.add(
            content(tables.candidate, rows.from_content(proposal.candidate)),
            Rows("proposal", [said]),
            Rows("exemplar", shown_ones, of="proposal"),
        )

    def add_evaluation(
        self, run: str, evaluation: Evaluation, workload: Workload | None = None
    ) -> None:
        """Add a verdict with its raw samples; its candidate must have been proposed before.

        ``workload`` is the one judged on, where it is not in the archive yet.
        """
        found = rows.from_evaluation(evaluation) | {"run": run, "created_at": now()}
        samples = [rows.from_timing(evaluation.timing)] if evaluation.timing else []
        of_workload = [content(tables.workload, rows.from_content(workload))] if workload else []
        self._writer.add(
            *of_workload,
            content(tables.environment, rows.from_content(evaluation.environment)),
            Rows("evaluation", [found]),
            Rows("timing", samples, of="evaluation"),
        )

    def add_call(self, run: str, call: Call) -> None:
        """Add what a model was asked and answered, as soon as it has been paid for."""
        self._writer.add(Rows("call", [rows.from_call(call) | {"run": run, "created_at": now()}]))

    def add_trials(
        self, run: str, environment: Environment, version: int, trials: Sequence[Trial]
    ) -> None:
        """Add what a run's tuner, of this version, measured in this environment."""
        of: dict[str, Any] = {"run": run, "task": self._task(run), "created_at": now()}
        of |= {"environment": environment.digest, "tuner_version": version}
        outlines = {t.outline.digest: t.outline for t in trials if t.outline}
        self._writer.add(
            content(tables.environment, rows.from_content(environment)),
            *(content(tables.outline, rows.from_content(each)) for each in outlines.values()),
            Rows("trial", [rows.from_trial(trial) | of for trial in trials]),
        )

    def add_step(self, step: Step) -> None:
        """Add what a step of training logged; the same step done again stands for itself."""
        told = {"recipe": dict(step.recipe), "facts": dict(step.facts)}
        said = {"stage": step.stage, "number": step.number, "created_at": now()}
        self._writer.add(Rows("step", [said | told]))

    # -- what is read back ---------------------------------------------------------------------

    def tasks(self, name: str | None = None) -> list[Task]:
        """All tasks, or those with this name, in the order in which they were first run."""
        first = sa.select(sa.func.min(tables.run.c.id)).where(
            tables.run.c.task == tables.task.c.digest
        )
        query = sa.select(tables.task).order_by(first.scalar_subquery(), tables.task.c.name)
        if name is not None:
            query = query.where(tables.task.c.name == name)
        return [rows.to_task(row) for row in self._read(query)]

    def newest_tasks(self, n: int) -> list[Task]:
        """The ``n`` tasks that were run last, in the order in which they were first run."""
        run = tables.run
        times = (
            sa.select(
                run.c.task,
                sa.func.min(run.c.id).label("first"),
                sa.func.max(run.c.id).label("last"),
            )
            .group_by(run.c.task)
            .order_by(sa.desc("last"))
            .limit(n)
            .subquery()
        )
        query = sa.select(tables.task).join(times, times.c.task == tables.task.c.digest)
        return [rows.to_task(row) for row in self._read(query.order_by(times.c.first))]

    def count_tasks(self) -> int:
        [row] = self._read(sa.select(sa.func.count().label("n")).select_from(tables.task))
        return int(row["n"])

    def find_task(self, digest: str) -> Task | None:
        """The task with exactly this digest, if there is one."""
        found = self._read(sa.select(tables.task).where(tables.task.c.digest == digest))
        return rows.to_task(found[0]) if found else None

    def last_run(self) -> Run | None:
        """The newest run of all."""
        found = self._read(sa.select(tables.run).order_by(tables.run.c.id.desc()).limit(1))
        return Run(**found[0]) if found else None

    def task(self, digest: str) -> Task:
        """The task with this digest, or with a digest that begins so.

        Raises:
            UsageError: none, or several.
        """
        return rows.to_task(self._the_one(tables.task, digest))

    def candidate(self, digest: str) -> Candidate:
        """The candidate with this digest, or with a digest that begins so ('b2:' may be left out).

        Raises:
            UsageError: none, or several.
        """
        return rows.to_candidate(self._the_one(tables.candidate, digest))

    def has_candidate(self, digest: str) -> bool:
        """Whether a candidate with exactly this digest was proposed."""
        query = sa.select(tables.candidate.c.digest).where(tables.candidate.c.digest == digest)
        return bool(self._read(query))

    def proposals(self, task: str | None = None, run: str | None = None) -> list[Proposal]:
        """What was proposed, oldest first; of one task or one run where given (by digest, id)."""
        wanted: list[sa.ColumnElement[bool]] = []
        if task is not None:
            runs = sa.select(tables.run.c.id).where(tables.run.c.task == task)
            wanted.append(tables.proposal.c.run.in_(runs))
        if run is not None:
            wanted.append(tables.proposal.c.run == run)
        return self._proposals(*wanted)

    def evaluations(
        self,
        *,
        task: str | None = None,
        candidate: str | None = None,
        device: str | None = None,
        judge_version: int | None = None,
    ) -> list[Evaluation]:
        """Verdicts, oldest first. Those of different judge versions should never be mixed."""
        evaluation, environment = tables.evaluation, tables.environment
        wanted = [
            column == value
            for column, value in (
                (evaluation.c.task, task),
                (evaluation.c.candidate, candidate),
                (environment.c.device, device),
                (evaluation.c.judge_version, judge_version),
            )
            if value is not None
        ]
        query = (
            sa.select(evaluation, *_without_digest(environment), tables.timing.c.samples_ns)
            .join_from(evaluation, environment, evaluation.c.environment == environment.c.digest)
            .outerjoin(tables.timing, tables.timing.c.evaluation == evaluation.c.id)
            .where(*wanted)
        )
        return [rows.to_evaluation(row) for row in self._read(query.order_by(evaluation.c.id))]

    def count_evaluations(self, task: str) -> dict[str, int]:
        """The numbers of verdicts on a task, by device."""
        of_task = (
            sa.select(tables.environment.c.device, sa.func.count().label("n"))
            .join_from(tables.evaluation, tables.environment)
            .where(tables.evaluation.c.task == task)
            .group_by(tables.environment.c.device)
        )
        return {row["device"]: row["n"] for row in self._read(of_task)}

    def judged_at(self, evaluation: Evaluation) -> str:
        """The time of the last verdict on the same candidate by the same judge in the same place,
        in ISO format; empty if there is none."""
        found = tables.evaluation
        query = sa.select(sa.func.max(found.c.created_at).label("at")).where(
            found.c.task == evaluation.task,
            found.c.candidate == evaluation.candidate,
            found.c.environment == evaluation.environment.digest,
            found.c.judge_version == evaluation.judge_version,
        )
        [row] = self._read(query)
        return row["at"] or ""

    def history(
        self, task: str, *, device: str | None = None, judge_version: int | None = None
    ) -> list[tuple[Proposal, Evaluation]]:
        """Every verdict on a task beside the first proposal of its candidate, oldest first.

        This is all that a run needs to go on where another stopped. Verdicts on a candidate that
        nobody proposed for this task are left out.
        """
        said: dict[str, Proposal] = {}
        for proposal in self.proposals(task=task):
            said.setdefault(proposal.candidate.digest, proposal)
        verdicts = self.evaluations(task=task, device=device, judge_version=judge_version)
        return [
            (said[verdict.candidate], verdict) for verdict in verdicts if verdict.candidate in said
        ]

    def calls(self, task: str) -> list[Call]:
        """Every model's call for a task, oldest first."""
        runs = sa.select(tables.run.c.id).where(tables.run.c.task == task)
        query = sa.select(tables.call).where(tables.call.c.run.in_(runs))
        return [rows.to_call(row) for row in self._read(query.order_by(tables.call.c.id))]

    def is_examined(self, task: str) -> bool:
        """Whether checkpoints were examined on a task: nothing should learn from it then."""
        return any(call.purpose == EXAM for call in self.calls(task))

    def steps(self) -> list[Step]:
        """All steps of training by stage, the earliest stage first. Of a step that was done again
        after a kill, the last."""
        found: dict[tuple[str, int], Step] = {}
        for row in self._read(sa.select(tables.step).order_by(tables.step.c.id)):
            step = Step(row["stage"], row["number"], row["recipe"], row["facts"])
            found[step.stage, step.number] = step
        order = list(dict.fromkeys(stage for stage, _ in found))
        return sorted(found.values(), key=lambda step: (order.index(step.stage), step.number))

    def trials(self, task: str, *, environment: str, version: int) -> list[Trial]:
        """The trials of a task in an environment by this version of the tuner, oldest first."""
        trial = tables.trial
        wanted = (trial.c.task == task) & (trial.c.environment == environment)
        query = sa.select(trial).where(wanted & (trial.c.tuner_version == version))
        return [found for _, found in self._trials(query.order_by(trial.c.id))]

    def trials_everywhere(self, task: str) -> list[tuple[Environment, int, Trial]]:
        """All trials of a task, oldest first, each with its environment and the tuner's version."""
        trial = tables.trial
        query = sa.select(trial).where(trial.c.task == task).order_by(trial.c.id)
        found = self._trials(query)
        named = {row["environment"] for row, _ in found}
        places = {
            row["digest"]: Environment(row["device"], row["facts"])
            for row in self._read(
                sa.select(tables.environment).where(tables.environment.c.digest.in_(named))
            )
        }
        return [(places[row["environment"]], row["tuner_version"], one) for row, one in found]

    def past_trials(
        self, *, device: str, version: int, n: int, without_task: str = ""
    ) -> dict[tuple[str, str], list[Trial]]:
        """The newest ``n`` trials with a time and an outline on machines with this device, by the
        digests of task and environment."""
        trial, environment = tables.trial, tables.environment
        query = (
            sa.select(trial)
            .join_from(trial, environment, trial.c.environment == environment.c.digest)
            .where(
                environment.c.device == device,
                trial.c.tuner_version == version,
                trial.c.task != without_task,
                trial.c.time_ns.is_not(None),
                trial.c.outline.is_not(None),
            )
        )
        found: dict[tuple[str, str], list[Trial]] = {}
        for row, one in self._trials(query.order_by(trial.c.id.desc()).limit(n)):
            found.setdefault((row["task"], row["environment"]), []).append(one)
        return found

    def _trials(self, query: sa.Select[Any]) -> list[tuple[sa.RowMapping, Trial]]:
        """The trials that a query selects, each with its row."""
        found = self._read(query)
        named = {row["outline"] for row in found}  # read after them: others write meanwhile
        known = sa.select(tables.outline).where(tables.outline.c.digest.in_(named - {None}))
        outlines = {row["digest"]: rows.to_outline(row) for row in self._read(known)}
        return [(row, rows.to_trial(row, outlines)) for row in found]

    def counts(self) -> tuple[int, int]:
        """The numbers of all trials and of all verdicts: those of the last ones, because rows are
        numbered and stay for ever. See ``has_gaps``."""
        [trials], [verdicts] = (
            self._read(sa.select(sa.func.max(table.c.id).label("last")))
            for table in (tables.trial, tables.evaluation)
        )
        return trials["last"] or 0, verdicts["last"] or 0

    @property
    def has_gaps(self) -> bool:
        """Whether numbers may be unused, so that counts are upper bounds: a server does not give a
        number again whose append failed."""
        return self._engine.dialect.name != "sqlite"

    def newest_trials(self, task: str, *, environment: str) -> list[Trial]:
        """The trials by the newest version of the tuner that is among them, oldest first."""
        trial = tables.trial
        wanted = (trial.c.task == task) & (trial.c.environment == environment)
        query = sa.select(trial.c.tuner_version).where(wanted)
        versions = [row["tuner_version"] for row in self._read(query.distinct())]
        newest = max(versions, default=0)
        return self.trials(task, environment=environment, version=newest)

    def past_calls(self, *, without_task: str) -> list[PastCall]:
        """Return the generators' newest ``PAST_CALLS`` calls, on all tasks but one, with what they
        led to; the oldest call comes first."""
        call, run, proposal, found = tables.call, tables.run, tables.proposal, tables.evaluation
        passed = (
            sa.select(found.c.id)
            .join_from(proposal, found, proposal.c.candidate == found.c.candidate)
            .where(
                proposal.c.call == call.c.id,
                found.c.task == run.c.task,
                found.c.status == "passed",
            )
        )
        query = (
            sa.select(
                call.c.model, call.c.context, tables.task.c.source, passed.exists().label("passed")
            )
            .join_from(call, run, call.c.run == run.c.id)
            .join(tables.task, tables.task.c.digest == run.c.task)
            .where(run.c.task != without_task, call.c.purpose.in_(("write", "repair", "optimise")))
        )
        newest = self._read(query.order_by(call.c.id.desc()).limit(PAST_CALLS))
        return [rows.to_past_call(row) for row in reversed(newest)]

    def lineage(self, digest: str) -> list[Proposal]:
        """The first proposal of a candidate and those it refines, the earliest ancestor first.

        Raises:
            UsageError: no candidate has this digest, or several have digests that begin so.
        """
        chain: list[Proposal] = []
        seen: set[str] = set()
        following: str | None = self.candidate(digest).digest
        while following is not None and following not in seen:
            seen.add(following)
            first, *_ = self._proposals(tables.proposal.c.candidate == following)
            chain.append(first)
            following = first.parent
        return chain[::-1]

    def runs(self, task: str | None = None) -> list[Run]:
        """All runs, or those of one task, oldest first."""
        query = sa.select(tables.run).order_by(tables.run.c.id)
        if task is not None:
            query = query.where(tables.run.c.task == task)
        return [Run(**row) for row in self._read(query)]

    def activities(self) -> list[Activity]:
        """The runs that have not ended, oldest first; among them are those that were cut off."""
        query = (
            sa.select(tables.run, tables.task.c.name.label("task_name"))
            .join_from(tables.run, tables.task, tables.task.c.digest == tables.run.c.task)
            .where(tables.run.c.finished_at.is_(None))
        )
        return [self._activity(dict(row)) for row in self._read(query.order_by(tables.run.c.id))]

    def _activity(self, row: dict[str, Any]) -> Activity:
        task_name, run = row.pop("task_name"), Run(**row)
        n_trials, last_trial = self._written(tables.trial, run)
        n_verdicts, last_verdict = self._written(tables.evaluation, run)
        last_at = max(run.started_at, last_trial, last_verdict)
        return Activity(run, task_name, n_trials, n_verdicts, last_at)

    def _written(self, table: sa.Table, run: Run) -> tuple[int, str]:
        """How many rows a run has written to a table, and when the last one; '' for none."""
        newest = sa.func.max(table.c.created_at).label("newest")
        asked = sa.select(sa.func.count().label("n"), newest).where(
            table.c.task == run.task,  # an index finds it
            table.c.run == run.id,
        )
        [found] = self._read(asked.select_from(table))
        return found["n"], found["newest"] or ""

    # -- how -----------------------------------------------------------------------------------

    @until_back
    def _read(self, query: sa.Select[Any]) -> Sequence[sa.RowMapping]:
        self._writer.replay()  # what is read includes what this process has written
        with explained(self._where), self._engine.begin() as connection:
            return connection.execute(query).mappings().all()

    def _task(self, run: str) -> str:
        """The digest of a run's task."""
        if run not in self._task_of:
            [row] = self._read(sa.select(tables.run.c.task).where(tables.run.c.id == run))
            self._task_of[run] = row["task"]
        return self._task_of[run]

    def _proposals(self, *wanted: sa.ColumnElement[bool]) -> list[Proposal]:
        query = (
            sa.select(tables.proposal, *_without_digest(tables.candidate))
            .join_from(
                tables.proposal,
                tables.candidate,
                tables.proposal.c.candidate == tables.candidate.c.digest,
            )
            .where(*wanted)
            .order_by(tables.proposal.c.id)
        )
        return [rows.to_proposal(row) for row in self._read(query)]

    def _the_one(self, table: sa.Table, prefix: str) -> sa.RowMapping:
        full = prefix if prefix.startswith("b2:") else f"b2:{prefix}"
        # A range, since databases use no index for LIKE.
        wanted = (table.c.digest >= full) & (table.c.digest < full + _AFTER_DIGITS)
        query = sa.select(table).where(wanted).order_by(table.c.digest).limit(3)
        found = [row for row in self._read(query) if row["digest"].startswith(full)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(
                f'no {table.name} in {self._where} begins with "{prefix}"',
                seen=prefix,
                do="`kernelwright report` lists what the archive holds",
            )
        raise UsageError(
            f'several {table.name}s in {self._where} begin with "{prefix}"',
            seen=", ".join(row["digest"] for row in found) + (", …" if len(found) > 2 else ""),
            do="give more of the digest",
        )


def _without_digest(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.c if column.name != "digest"]
