"""Writes the card of a dataset: its content, its origin, and the tasks that were left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelwright.core.checkout import git
from kernelwright.dataset import cards
from kernelwright.dataset.contents import Dataset
from kernelwright.dataset.rows import archive_name, is_winner


def write_card(
    dataset: Dataset,
    *,
    archives: Sequence[str],
    exclude: Sequence[str | Path],
    keep: int,
    command: str,
) -> Path:
    """Write the card beside the table and return its path."""
    pairs = dataset.pairs
    provenance = [json.loads(pair.provenance) for pair in pairs]
    return cards.write(
        dataset.folder,
        "kernelwright.dataset",
        "card.md.j2",
        command=command,
        commit=git(Path(__file__).parent, "rev-parse", "HEAD") or "not a checkout",
        archives=[archive_name(url) for url in archives],
        exclude=[Path(folder).name for folder in exclude],
        n_tests=dataset.n_tests,
        keep=keep,
        n_pairs=len(pairs),
        n_tasks=len({pair.task_digest for pair in pairs}),
        n_winners=sum(map(is_winner, pairs)),
        splits=_counts(pair.split for pair in pairs),
        origins=_counts((pair.origin, pair.dialect, pair.device) for pair in pairs),
        statuses=_counts(pair.status for pair in pairs),
        machines=_counts(_machine(row["environment"]) for row in provenance),
        licences=_counts((row["licence"], row["task_origin"]) for row in provenance),
        left=_counts(left.reason for left in dataset.left),
    )


def _counts(values):
    return Counter(values).most_common()


def _machine(facts: dict[str, str]) -> str:
    name = facts.get("gpu") or facts.get("processor") or "unknown"
    return f"{name}, torch {facts.get('torch', 'unknown')}"
