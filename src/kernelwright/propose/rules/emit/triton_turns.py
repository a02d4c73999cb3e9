"""The six products of a block of k as six turns of one loop.

Triton waits for a product on Hopper's tensor cores before it starts the next one that adds to it,
unless that is the same statement a turn later. One statement in six turns keeps them busy; the
price is that every turn brings its own two operands from the L2 cache: twelve, not six.
"""

from __future__ import annotations

from kernelwright.propose.rules.emit.triton_split import Rows

_LOOP = """\
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
chunk = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
start = 0
turn = 0
for _ in range({n_turns}):
    # parts of a and b, the smallest products first: 2 0, 0 2, 1 1, 1 0, 0 1, 0 0
    a_part = tl.where(turn == 0, 2, tl.where((turn == 2) | (turn == 3), 1, 0))
    b_part = tl.where(turn == 1, 2, tl.where((turn == 2) | (turn == 4), 1, 0))
    a = a_in_three.load([{a_start} + a_part * {a_rows}, start])
    b = b_in_three.load([{b_start} + b_part * {b_rows}, start]).T
    chunk = tl.dot(a{wide}, b{wide}, chunk{exact})
    if turn == 5:
        acc += chunk  # a fresh sum: tensor cores cut bits when they accumulate
        chunk = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        turn = 0
        start += BLOCK_K
    else:
        turn += 1"""


def loop_in_turns(
    rows: tuple[Rows, Rows], starts: tuple[str, str], block_k: int, *, interpreted: bool
) -> list[str]:
    """The lines of the loop over k; the operands come by descriptor, as rows that ``starts`` name
    the first ones of."""
    (a, b), (a_start, b_start) = rows, starts
    text = _LOOP.format(
        n_turns=6 * (a.padded_k // block_k), a_start=a_start, b_start=b_start,
        a_rows=a.padded_rows, b_rows=b.padded_rows,
        wide=".to(tl.float32)" if interpreted else "",
        exact=', input_precision="ieee"' if interpreted else "",
    )  # fmt: skip
    return text.split("\n")
