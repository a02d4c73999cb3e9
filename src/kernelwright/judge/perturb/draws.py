"""Draws: which inputs and weights a call gets; nobody can guess them without the secret."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.judge.compare.growth import Terms

TASK, OWN_WEIGHTS = "task", "weights"
"""Distributions of the task's own inputs. All calls but the second's have weights that nobody has
seen: a candidate may find out that a branch is scaled by 1e-6, and leave it out while it is."""
LARGE_WEIGHTS = "large_weights"
"""The task's own inputs, with weights such as no initialiser draws."""

TOUCHED = "touched"
"""Likewise, with the usual weights but for some numbers of each parameter: a candidate may look at
the others to see whether those came that it knows."""
SMALL_WEIGHTS = "small_weights"
"""Likewise, but for those of one number and of one sign, which are small: a slow decay."""
OTHER_WEIGHTS = (OWN_WEIGHTS, LARGE_WEIGHTS, TOUCHED, SMALL_WEIGHTS)
"""What is drawn is weights, and the inputs are the task's own."""


@dataclass(frozen=True)
class Draw:
    """One set of inputs: its distribution, its seed, and which weights go with it."""

    distribution: str
    seed: int
    turn: int = 0
    """Of those of one distribution; a part of the seed, by which arguments take turns."""

    @property
    def weights(self) -> str:
        return self.distribution if self.distribution in OTHER_WEIGHTS else TASK


@dataclass(frozen=True)
class Other:
    """A further set of inputs that the task declares: shapes besides those that are timed."""

    number: int
    """Its place in what ``get_other_inputs`` returns."""
    draw: Draw
    example: list[torch.Tensor]
    """The outputs that it gives, without memory."""
    terms: Terms


def derive_seed(secret: int, *parts: Any) -> int:
    """A 63-bit seed that cannot be guessed without ``secret``."""
    text = repr((secret, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
