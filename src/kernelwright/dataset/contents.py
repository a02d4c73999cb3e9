"""A dataset that was built: its pairs, and the tasks that gave none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kernelwright.dataset.pairs import Pair


@dataclass(frozen=True)
class LeftOut:
    """A task that gave no pairs, with the reason."""

    name: str
    reason: str
    """'test': it repeats a test; 'no verdict': no candidate was judged; 'not text': it needs more
    than its text to run."""
    detail: str = ""


@dataclass(frozen=True)
class Dataset:
    """The dataset that was built."""

    pairs: tuple[Pair, ...]
    left: tuple[LeftOut, ...]
    n_tests: int
    """Number of test tasks that the others were compared with."""
    folder: Path

    @property
    def counts(self) -> dict[str, int]:
        """The number of pairs by split."""
        return dict(Counter(pair.split for pair in self.pairs))
