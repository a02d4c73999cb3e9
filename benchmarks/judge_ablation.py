"""What each check, allowance and constant of the judge is worth, by the zoo judged by results.

    PYTHONPATH=src python benchmarks/judge_ablation.py --out ablation.jsonl --jobs 60
        [--parts] [--every N] [NAME ...]

Every case is checked on every distribution, set of weights and set of shapes, on after the first
that refuses it. With ``--parts`` the zoo's tasks are judged again with one part of the judge
switched off at a time, on the tasks where that part did anything. Each case is one line of JSON in
``--out``; cases that are in it already are not judged again. A table in Markdown is printed at the
end: what refuses which cheats, alone or beside others, which checks never refuse any, which
allowances honest kernels need, and which verdicts change without a part.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from judge_ablation_parts import PARTS, Part, Switches

from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.judge.checks import Draw, derive_seed
from kernelwright.judge.checks.registry import PLAIN
from kernelwright.judge.judge import Judge
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.verify import leniency
from kernelwright.judge.verify.run_checks import CheckPlan
from kernelwright.judge.verify.verification import LOAD_LIMIT_S, Verification
from kernelwright.testing.zoo.cases import Case, cases
from kernelwright.workers.in_process import in_process
from kernelwright.workers.side_by_side import side_by_side

N_THREADS = 2
"""Per case, unless it asks for others: results do not hang on it, and many run side by side."""
ALLOWANCES = ("conditioned", "jumping", "by_operators")
"""In the order in which they are asked for when a comparison fails."""
MOST_CASES, LIMIT_S = 4, 900.0
"""Cases of one task that share a process, and the seconds that they may take."""


PRELOADED = ("kernelwright.judge.judge", "kernelwright.testing.zoo.cases")


@dataclass(frozen=True)
class Job:
    """The cases of one task, judged in one process, with a part switched off or none."""

    cases: tuple[Case, ...]
    without: str = ""


class Examination:
    """Every check of one candidate, on after those that refuse it."""

    def __init__(self, judge: Judge, case: Case) -> None:
        self._judge, self._case = judge, case
        self.found: list[dict[str, Any]] = []
        self._check: Verification | None = None
        self._is_gone = False
        self._allowance = ""

    def run(self) -> None:
        oracle = self._judge.oracle
        passed: dict[Draw, Any] = {}
        if not self._start():
            return
        for draw in CheckPlan(oracle).all_draws():
            outputs = self._try(_name_of(draw), partial(self._once, draw), draw)
            if outputs and len(passed) < 2 and draw.check in PLAIN:
                passed[draw] = outputs
        for other in oracle.other_draws:
            self._try(f"other shapes {other.name}", partial(self._visit, other))
        if oracle.other_draws:
            self._try("back to the first shapes", self._come_home)
        if passed:
            self._try("repeated", partial(self._repeat, passed))
        self._try("outputs held to the end", self._finish)
        self._end()

    def _start(self) -> bool:
        """A child with the candidate; False where it cannot be made, which is a refusal too."""
        prepared = self._prepared = self._judge._builder.submit(self._case.candidate, timed=False)
        self._judge._builder.build(prepared)
        if prepared.error is not None:
            refused = prepared.error
            status = refused.status if isinstance(refused, Refused) else type(refused).__name__
            self._note("built and called once", str(status), str(refused))
            prepared.close()
            return False
        seed = derive_seed(prepared.verdict.seed, "verify")
        self._check = Verification(self._judge.oracle, prepared.runner, seed)
        return True

    def _end(self) -> None:
        self._prepared.close()

    def _once(self, draw: Draw) -> Any:
        return self._check.run(draw, self._judge.stopwatch.checked_call)

    def _visit(self, other: Any) -> None:
        self._check.visit(other, self._judge.stopwatch.checked_call)

    def _come_home(self) -> None:
        self._check.come_home(self._judge.stopwatch.checked_call)

    def _repeat(self, passed: dict[Draw, Any]) -> None:
        self._check.runner.end_filling()
        self._check.repeat(passed, limit_s=self._judge.stopwatch.limit_s)

    def _finish(self) -> None:
        self._check.finish()

    def _try(self, name: str, act: Callable[[], Any], draw: Draw | None = None) -> Any:
        """Do it, and note how it ended; after a refusal the candidate goes on, or begins anew."""
        if self._is_gone:
            return None
        self._allowance, warnings = "", len(self._check.tally.warnings)
        try:
            with memory_apart(), self._judge.machine.device_lock.shared(self._check.runner):
                found = act()
        except Refused as refused:
            self._note(name, str(refused.status), str(refused))
            is_alive = refused.status is Status.WRONG_VALUES
            try:
                if is_alive and draw is not None and draw.weights != USUAL:
                    self._check.runner.load(self._judge.oracle.state(USUAL), limit_s=LOAD_LIMIT_S)
            except Refused:
                is_alive = False
            if not is_alive:
                self._end()
                self._is_gone = not self._start()
            return None
        told = self._check.tally.warnings[warnings:]
        is_left_out = draw is not None and found == []
        result = "warned" if told else "left out" if is_left_out else "passed"
        self._note(name, result, "; ".join(warned.detail for warned in told), self._allowance)
        return found

    def _note(self, check: str, result: str, why: str, allowance: str = "") -> None:
        self.found.append({"check": check, "result": result, "why": why[:300]})
        if allowance:
            self.found[-1]["allowance"] = allowance

    def note_allowance(self, name: str) -> None:
        """An allowance that was asked for in the comparison that is going on."""
        self._allowance = name


def _name_of(draw: Draw) -> str:
    return f"{draw.name} {draw.turn}" if draw.turn else draw.name


def examine_task(
    job: Job, device: str, *, fork_server: SharedForkServer, on_step: Callable[[Any], None]
) -> None:
    """Judge the cases of one task; each is one step."""
    switches, current = Switches(), []
    if job.without:
        switches.switch_off(job.without)
    else:
        switches.watch()
    for name in ALLOWANCES:
        _tell_of(name, current)
    threads = job.cases[0].threads or N_THREADS
    settings = Settings(device=device, threads=threads)
    how = {"device": Device.parse(device), "settings": settings, "fork_server": fork_server}
    with Judge(job.cases[0].load_task(), **how) as judge:
        for case in job.cases:
            examination = Examination(judge, case)
            current[:] = [examination]
            examination.run()
            fired = sorted(switches.fired)
            on_step(_row(job, case, examination.found) | {"fired": fired})


def _tell_of(name: str, current: list[Examination]) -> None:
    """Let an allowance say to the examination that it was asked for."""
    function = getattr(leniency, name)

    def call(*args: Any) -> Any:
        current[0].note_allowance(name)
        return function(*args)

    setattr(leniency, name, call)


def _row(job: Job, case: Case, found: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "case": case.name,
        "task": case.task,
        "is_cheat": case.is_cheat,
        "without": job.without,
        "checks": found,
    }


def run(
    jobs: Iterable[Job], device: str, n_jobs: int, keep: Callable[[dict[str, Any]], None]
) -> None:
    """All of them, so many at a time, each in a process of its own."""
    with SharedForkServerProcess() as fork_server:

        def work(job: Job) -> None:
            rows: list[dict[str, Any]] = []

            def step(row: dict[str, Any]) -> None:
                rows.append(row)
                keep(row)

            ending = in_process(
                partial(examine_task, job, device),
                fork_server=fork_server,
                on_step=step,
                limit_s=LIMIT_S,
                preload=PRELOADED,
            )
            if ending.is_interrupted:
                return
            why = f"{ending.error or ending.died or ('late' if ending.is_late else '')}"
            for case in job.cases[len(rows) :]:
                lost = {"check": "the judge itself", "result": "failed", "why": why[:300]}
                keep(_row(job, case, [lost]) | {"fired": []})

        side_by_side(work, jobs, jobs=n_jobs)


def refusals(row: dict[str, Any]) -> list[str]:
    """The checks that refuse a case."""
    fine = ("passed", "warned", "left out")
    return [one["check"] for one in row["checks"] if one["result"] not in fine]


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of the report."""
    base = {row["case"]: row for row in rows if not row["without"]}
    cheats = {name: row for name, row in base.items() if row["is_cheat"]}
    by_case = {name: set(map(_family, refusals(row))) for name, row in cheats.items()}
    yield f"{len(cheats)} cheats, {sum(map(bool, by_case.values()))} refused by results;"
    yield f"{len(base) - len(cheats)} honest, {_n_refused(base) - _n_refused(cheats)} refused.\n"
    yield "## Checks\n"
    yield "| check | asked | left out | refuses cheats | alone | refuses honest | warned |"
    yield "|---|---|---|---|---|---|---|"
    asked, left, warned = Counter[str](), Counter[str](), Counter[str]()
    accused = Counter[str]()
    for row in base.values():
        results = defaultdict(set)
        for one in row["checks"]:
            results[_family(one["check"])].add(one["result"])
        asked.update(list(results))
        left.update(name for name, found in results.items() if found == {"left out"})
        warned.update(name for name, found in results.items() if "warned" in found)
        accused.update([] if row["is_cheat"] else set(map(_family, refusals(row))))
    alone = {name: [c for c, found in by_case.items() if found == {name}] for name in asked}
    for name in sorted(asked, key=lambda n: (-len(alone[n]), n)):
        n_cheats = sum(name in found for found in by_case.values())
        cells = (asked[name], left[name], n_cheats, len(alone[name]), accused[name], warned[name])
        yield f"| {name} | {' | '.join(map(str, cells))} |"
    yield "\nRefused by one check alone:\n"
    yield from (f"- {name}: {', '.join(sorted(found))}" for name, found in alone.items() if found)
    yield "\nFewest checks that refuse all of these, found greedily:\n"
    yield from _cover(by_case)
    yield "\n## Allowances that comparisons which pass had asked for\n"
    yield from _allowances(base.values())
    yield "\n## Without one part\n"
    yield from _without(base, [row for row in rows if row["without"]])


def _family(check: str) -> str:
    """A check without its turn or the number of its shapes."""
    words = check.split()
    return (
        " ".join(words[:2])
        if check.startswith("other shapes")
        else (" ".join(words[:-1]) if words[-1].isdigit() else check)
    )


def _n_refused(rows: dict[str, dict[str, Any]]) -> int:
    return sum(bool(refusals(row)) for row in rows.values())


def _cover(by_case: dict[str, set[str]]) -> Iterator[str]:
    left = {name: found for name, found in by_case.items() if found}
    while left:
        name, n = Counter(itertools.chain(*left.values())).most_common(1)[0]
        few = sorted(case for case, found in left.items() if name in found)
        yield f"- {name}: {n} more" + (f" ({', '.join(few)})" if n <= 6 else "")
        left = {case: found for case, found in left.items() if name not in found}


def _allowances(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    found: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for row in rows:
        for one in row["checks"]:
            if "allowance" in one:
                found[one["allowance"], row["is_cheat"]].add(f"{row['case']} ({one['check']})")
    for (name, is_cheat), told in sorted(found.items()):
        which = "cheats" if is_cheat else "honest"
        yield f"- {name}, {which}: {len(told)}: {', '.join(sorted(told)[:40])}"


def _without(base: dict[str, dict[str, Any]], rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| part | tasks | cheats that pass | honest refused | cheats refused | honest pass |"
    yield "|---|---|---|---|---|---|"
    fired = defaultdict(set)
    for row in base.values():
        for name in row["fired"]:
            fired[name].add(row["task"])
    for part in PARTS:
        changed: dict[tuple[bool, bool], list[str]] = defaultdict(list)
        n_judged = 0
        for row in rows:
            if row["without"] == part.name and row["case"] in base:
                n_judged += 1
                now, before = bool(refusals(row)), bool(refusals(base[row["case"]]))
                if now != before:
                    changed[row["is_cheat"], now].append(row["case"])
        cells = [
            f"{len(changed[key])} {', '.join(sorted(changed[key])[:12])}"
            for key in ((True, False), (False, True), (True, True), (False, False))
        ]
        seen = f"{len(fired[part.name])} ({n_judged} cases)"
        yield f"| {part.name} | {seen} | {' | '.join(cells)} |"


def _is_judged(part: Part, case: Case) -> bool:
    return part.judged == "both" or (part.judged == "cheats") == case.is_cheat


def _groups(chosen: Iterable[Case], without: str = "") -> list[Job]:
    key = lambda case: (case.task, case.threads)  # noqa: E731
    groups = [list(group) for _, group in itertools.groupby(sorted(chosen, key=key), key)]
    starts = [(group, start) for group in groups for start in range(0, len(group), MOST_CASES)]
    return [Job(tuple(group[start : start + MOST_CASES]), without) for group, start in starts]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Lines of JSON.")
@click.option("--jobs", default=1, help="Processes at a time.")
@click.option("--device", default="cpu")
@click.option("--parts", is_flag=True, help="Switch off each part as well.")
@click.option("--only", multiple=True, help="Switch off these parts alone.")
@click.option("--every", default=1, help="Each N-th cheat and honest kernel, of those not named.")
def main(
    names: tuple[str, ...], out: Path, jobs: int, device: str, parts: bool, only: tuple[str, ...],
    every: int,
) -> None:  # fmt: skip
    """Judge the cases NAMES, or all of them, and print what each check and part is worth."""
    known = [case for case in cases(device=device) if case.is_runnable()]
    chosen = [case for case in known if case.name in names] if names else known[::every]
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    writing = threading.Lock()

    def keep(row: dict[str, Any]) -> None:
        with writing, out.open("a") as file:
            rows.append(row)
            file.write(json.dumps(row) + "\n")
        click.echo(f"{row['case']} {row['without']}: {', '.join(refusals(row)) or '-'}", err=True)

    def left(found: Iterable[Case], without: str = "") -> list[Case]:
        done = {row["case"] for row in rows if row["without"] == without}
        return [case for case in found if case.name not in done]

    run(_groups(left(chosen)), device, jobs, keep)
    if parts or only:
        fired = {row["case"]: set(row["fired"]) for row in rows if not row["without"]}
        todo: list[Job] = []
        for part in PARTS:
            if only and part.name not in only:
                continue
            in_use = {c.task for c in chosen if part.name in fired.get(c.name, ())}
            concerned = [c for c in chosen if c.task in in_use and _is_judged(part, c)]
            todo += _groups(left(concerned, part.name), part.name)
        run(todo, device, jobs, keep)
    click.echo("\n".join(table(rows)))


if __name__ == "__main__":
    main()
