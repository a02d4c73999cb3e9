"""DPP: lanes whose first source comes from other lanes, as tables for one wave.

Source: AMD, "RDNA3 Instruction Set Architecture" and "AMD Instinct MI300 Instruction Set
Architecture", Data Parallel Processing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_WORDS = re.compile(
    r"\b(?:(quad_perm|dpp8):\[([\d,]+)\]|(row_shl|row_shr|row_ror|row_share|row_newbcast|row_xmask"
    r"|row_bcast|wave_shl|wave_shr|wave_rol|wave_ror):(\d+)|(row_mirror|row_half_mirror))"
)
_MASKS = re.compile(r"\b(row_mask|bank_mask|bound_ctrl|fi):(\w+)")
NOWHERE = -1


def lane_table(said: str, width: int) -> tuple[dict[str, int | str] | None, str]:
    """Return the emulator's modifiers of a DPP instruction, and the text without them; None if it
    is not one."""
    found = _WORDS.search(said)
    if found is None:
        return None, said
    masks = {name: int(value, 0) for name, value in _MASKS.findall(said)}
    sources = [_source(found, lane, width) for lane in range(64)]
    on = 0
    for lane in range(64):
        is_row = masks.get("row_mask", 15) >> (lane // 16) & 1
        is_bank = masks.get("bank_mask", 15) >> (lane // 4 % 4) & 1
        on |= (is_row & is_bank) << lane
    is_eight = found[1] == "dpp8"
    modifiers: dict[str, int | str] = {
        "lanes": f"{','.join(map(str, sources))};{on:x}",
        # lanes without a source read 0 by default in the older syntax (bound_ctrl:0), too
        "bound_ctrl": int("bound_ctrl" in masks or is_eight),
        "fi": masks.get("fi", 0),
    }
    return modifiers, _MASKS.sub("", _WORDS.sub("", said))


def _source(found: re.Match[str], lane: int, width: int) -> int:
    """Return the lane that ``lane`` reads from; NOWHERE if none."""
    if found[1]:
        listed = [int(n) for n in found[2].split(",")]
        return lane // len(listed) * len(listed) + listed[lane % len(listed)]
    row, at = lane // 16 * 16, lane % 16
    if found[5]:
        return row + (15 - at) if found[5] == "row_mirror" else row + (at ^ 7)
    n = int(found[4])
    in_row: dict[str, Callable[[], int]] = {
        "row_shl": lambda: at + n if at + n < 16 else NOWHERE,
        "row_shr": lambda: at - n if at >= n else NOWHERE,
        "row_ror": lambda: (at - n) % 16,
        "row_share": lambda: n,
        "row_newbcast": lambda: n,
        "row_xmask": lambda: at ^ n,
    }
    if found[3] in in_row:
        inside = in_row[found[3]]()
        return NOWHERE if inside == NOWHERE else row + inside
    if found[3] == "row_bcast":
        return row - 1 if n == 15 and row else (31 if n == 31 and lane >= 32 else NOWHERE)
    step = {"wave_shl": n, "wave_shr": -n, "wave_rol": n, "wave_ror": -n}[found[3]]
    moved = lane + step
    if found[3] in ("wave_rol", "wave_ror"):
        return moved % width
    return moved if 0 <= moved < width else NOWHERE
