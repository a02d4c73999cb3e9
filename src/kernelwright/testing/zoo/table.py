"""The zoo's outcomes as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from kernelwright.testing.zoo.outcomes import Outcome, Result

STYLE = {
    Result.HELD: "green",
    Result.ESCAPE: "bold red",
    Result.FALSE_ACCUSATION: "bold red",
    Result.OTHER_STATUS: "yellow",
    Result.NEEDS_CLOCK: "yellow",
}


def table(outcomes: Sequence[Outcome]) -> Table:
    """One row per case, failures last, where a reader's eye ends."""
    made = Table(title=summary(outcomes), title_justify="left")
    for column in ("case", "codes", "status", "speedup", "kinds", "result", "s"):
        made.add_column(column, no_wrap=column != "result")
    order = sorted(outcomes, key=lambda o: (o.is_failure, o.result, o.case.is_cheat, o.case.name))
    for outcome in order:
        made.add_row(*row(outcome), style=STYLE[outcome.result])
    return made


def row(outcome: Outcome) -> list[str]:
    """The cells of one outcome."""
    case, evaluation = outcome.case, outcome.evaluation
    speedup = evaluation.speedup if evaluation else None
    return [
        case.name,
        ", ".join(case.codes) if case.is_cheat else case.kind,
        str(evaluation.status) if evaluation else "none",
        f"{speedup.median:.2f}" if speedup else "",
        ", ".join(evaluation.kinds) if evaluation else "",
        f"{outcome.result}: {outcome.why}"[:160] if outcome.why else str(outcome.result),
        f"{outcome.seconds:.1f}",
    ]


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many of each result, cheats and honest candidates apart."""
    cheats = Counter(o.result for o in outcomes if o.case.is_cheat)
    honest = Counter(o.result for o in outcomes if not o.case.is_cheat)
    escapes, accusations = cheats[Result.ESCAPE], honest[Result.FALSE_ACCUSATION]
    return (
        f"{cheats.total()} cheats: {escapes} escapes, "
        f"{cheats[Result.OTHER_STATUS]} refused with another status, "
        f"{cheats[Result.NEEDS_CLOCK]} that need the clock and were not timed; "
        f"{honest.total()} honest: {accusations} false accusations"
    )
