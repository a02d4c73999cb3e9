"""Copies of libraries' code, known by the code itself: whatever file or memory they run from.

A library's hot pages may be copied into small files, or into none, and called there. Where a
thread was seen in own code, the page that it stood in is compared with the files of the libraries
of its process, at any distance: code that has only been moved has the same bytes.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
from collections.abc import Collection, Sequence
from pathlib import Path

import torch

BLOCK_BYTES, WORDS = 128, 2
"""Of each block of a library's file the first words of 8 bytes are kept."""
TABLE_BITS, TAG_BITS = 24, 7
"""Of the table of what is known: 32 MB for some eight million blocks of torch and NumPy. A block
that is no library's is taken for one of theirs once in six hundred times."""
FACTORS = (-7046029254386353131, -4417276706812531889)  # odd, as xxHash's PRIME64 1 and 2
FEWEST_BLOCKS = 6
COPIED_SHARE = 0.5
"""Of a page's blocks that hold code, beside a library's own compiled into a kernel's file."""
AT_ONCE_BYTES = 64 << 20


def share(pages: Sequence[bytes], files: Collection[str]) -> float:
    """Which share of these pages of code are copies out of these libraries' files.

    The files are read once in a process's life, half a second for torch's.
    """
    if not pages:
        return 0.0
    known = _known()
    for path in sorted(files):
        known.add(path)
    return sum(known.is_copied(page) for page in pages) / len(pages)


class Known:
    """Blocks of code that files hold."""

    def __init__(self) -> None:
        self._tags = torch.zeros(1 << TABLE_BITS, dtype=torch.uint8)
        self._files: set[str] = set()

    def add(self, path: str) -> None:
        """Learn a file, where it is there and can be read."""
        if path in self._files:
            return
        self._files.add(path)
        with contextlib.suppress(OSError, ValueError), Path(path).open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            n_blocks = len(text) // BLOCK_BYTES
            words = torch.frombuffer(text, dtype=torch.int64, count=n_blocks * BLOCK_BYTES // 8)
            for some in words.view(n_blocks, -1)[:, :WORDS].split(AT_ONCE_BYTES // BLOCK_BYTES):
                place, tag, _ = _marks(some)
                self._tags[place] = tag

    def is_copied(self, page: bytes) -> bool:
        """Whether most of a page's code is in these files, moved by any number of bytes."""
        size = 8 * WORDS
        windows = torch.frombuffer(bytearray(page), dtype=torch.uint8).unfold(0, size, 1)
        place, tag, is_code = _marks(windows.contiguous().view(torch.int64))
        hits = (self._tags[place] == tag) & is_code
        for shift in range(BLOCK_BYTES):
            n_code = int(is_code[shift::BLOCK_BYTES].sum())
            n_hits = int(hits[shift::BLOCK_BYTES].sum())
            if n_code >= FEWEST_BLOCKS and n_hits > COPIED_SHARE * n_code:
                return True
        return False


@functools.cache
def _known() -> Known:
    return Known()


def _marks(words: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of each pair of words its place in the table, its tag there, and whether it is code: what
    fills gaps repeats itself.

    Shapes:
        words: (n, WORDS) int64
    """
    one, other = words[:, 0], words[:, 1]
    mixed = one * FACTORS[0] + (other ^ (one >> 29)) * FACTORS[1]
    mixed = mixed ^ (mixed >> 32)
    place = (mixed * FACTORS[0] >> (64 - TABLE_BITS)) & ((1 << TABLE_BITS) - 1)
    tag = ((mixed >> 3) & ((1 << TAG_BITS) - 1)) + 1
    return place, tag.to(torch.uint8), one != other
