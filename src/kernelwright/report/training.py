"""Stages of training as the page shows them: what each step logged, in the archive's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from markupsafe import Markup

from kernelwright.archive import Archive, Step
from kernelwright.report import charts

COLUMNS = {
    "loss": "loss", "earned": "reward", "share/with_code": "with code", "share/right": "right",
    "share/faster": "faster", "share/copies": "copies", "share/cheats": "refused",
    "judge/candidates": "judged", "judge/candidates_per_s": "judged a second",
    "time/sampling_share": "sampling", "time/judging_share": "idle for verdicts",
}  # fmt: skip
"""Headings by the names under which steps are logged. While the trainer waits for verdicts, its
device does nothing of its own: that share is how long a GPU is idle that judges on another one."""
SHARES = ("share/right", "share/faster", "share/copies", "share/cheats", "time/judging_share")
N_ROWS = 16
SHOWN = (
    "model", "dialects", "device", "reward", "advantage", "exemplars", "contrast", "shuffled",
    "tasks", "group", "updates", "rank",
)  # fmt: skip
"""Of a recipe; the archive has all."""


@dataclass(frozen=True)
class Stage:
    """One stage with its steps, in their order."""

    folder: str
    recipe: Mapping[str, object]
    steps: Sequence[Mapping[str, float]]

    @property
    def name(self) -> str:
        """'plain/contrastive': the last two folders tell runs of one stage apart."""
        return "/".join(PurePath(self.folder).parts[-2:])

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(name, _text(self.recipe[name])) for name in SHOWN if name in self.recipe]

    @property
    def n_judged(self) -> int:
        """Candidates that it paid for with a judgement."""
        return round(sum(step.get("judge/candidates", 0) for step in self.steps))

    @property
    def columns(self) -> dict[str, str]:
        """Headings of what was logged, by name."""
        return {n: word for n, word in COLUMNS.items() if any(n in step for step in self.steps)}

    @property
    def rows(self) -> Sequence[Mapping[str, float]]:
        """The steps that a table shows: of those with new answers, where there are such, evenly
        chosen, the last with them."""
        steps = [step for step in self.steps if self._main in step]
        every = -(-len(steps) // N_ROWS)
        return steps[::-1][::every][::-1] if every > 1 else steps

    @property
    def figures(self) -> list[tuple[Markup, str]]:
        """(chart, caption) of the reward or the loss, and of the shares."""
        main = self._main
        shares = {n: word for n, word in self.columns.items() if n in SHARES}
        found = [(self._lines({main: COLUMNS[main]}), f"{COLUMNS[main]} by step")]
        if shares:
            found.append((self._lines(shares, top=1.0), "shares by step"))
        return found

    @property
    def _main(self) -> str:
        return "earned" if "earned" in self.columns else "loss"

    def _lines(self, named: Mapping[str, str], top: float | None = None) -> Markup:
        lines = {
            word: [(step["step"], step[name]) for step in self.steps if name in step]
            for name, word in named.items()
        }
        return charts.lines(lines, f"{self.name}: {', '.join(named.values())}", top)


def stages(archive: Archive) -> list[Stage]:
    """Every stage that logged to the archive, the earliest first."""
    by_folder: dict[str, list[Step]] = {}
    for step in archive.steps():
        by_folder.setdefault(step.stage, []).append(step)
    return [
        Stage(folder, steps[-1].recipe, [{**step.facts, "step": step.number} for step in steps])
        for folder, steps in by_folder.items()
    ]


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
