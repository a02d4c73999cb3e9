"""Each row of memory and of warps, against a model made from its mnemonic; and each row changed.

The suite makes one change of each entry of the tables; benchmarks/port_mutation.py makes all.
"""

import numpy as np
import pytest
from tests.host.lift import warp
from tests.host.lift.flips import flips
from tests.host.lift.warp_models import EVENTS, model

from kernelwright.dialects.simt import machine
from kernelwright.lift.rows import rows

pytestmark = pytest.mark.skipif(
    machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
)
N_TIMES = 12
WORDS = (0, 1, 2, 3, 7, 31, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
SEGMENTS = (0x1F, 0, 0x101F, 0x1000, 0x181F, 0x1800, 0x1C03, 0x1E1F)
"""Third operands of shuffles: the last lane, and the lanes of a segment."""
UNCHANGED = {"WARPSYNC", "CCTL", "ERRBAR", "CGAERRBAR", "DEPBAR", "NANOSLEEP", "YIELD", "NOP",
             "ENDCOLLECTIVE", "CS2R"}  # fmt: skip
"""What changes no result where lanes run one after the other."""


def base_of(row):
    return row.sass.partition(".")[0]


ROWS = [row for forms in rows().values() for row in forms if model(row) or base_of(row) in EVENTS]


def given_to(row, inputs, draw):
    """Return (registers of lanes, operands of lanes by their names, active lanes, memory)."""
    base = base_of(row)
    is_matrix, is_float = base in ("HMMA", "IMMA"), ".F32" in row.sass or ".F64" in row.sass
    is_memory = any(slot.kind in ("global", "near", "bank") for slot in row.slots)
    mask = 1 if is_memory else 0xFFFFFFFF if is_matrix else int(draw.integers(1, 1 << 32)) | 1
    words = draw.integers(0, 1 << 32, (warp.LANES, warp.N_WORDS), dtype=np.uint32)
    words = np.where(draw.random(words.shape) < 0.5, draw.choice(WORDS, words.shape), words)
    words = words.astype(np.uint32)
    memory = draw.integers(0, 256, warp.ROOM_BYTES).astype(np.uint8)
    if draw.random() < 0.3:
        memory = np.full(warp.ROOM_BYTES, draw.choice((0, 1, 255)), np.uint8)
    if base in ("MATCH", "R2UR", "REDUX") and draw.random() < 0.7:
        words[:, 1:] = draw.choice((5, 6)) if draw.random() < 0.4 else words[:, 1:] % 3
    if is_float and is_memory:
        type_ = np.float32 if ".F32" in row.sass else np.float64
        memory = draw.normal(0, 9, 64 // type_().nbytes).astype(type_).view(np.uint8)
        words[:, 10:14] = (
            draw.normal(0, 9, (32, 16 // type_().nbytes)).astype(type_).view(np.uint32)
        )
    for name, (at, n) in inputs.items():
        if is_matrix and name == "c" and base == "IMMA":
            words[:, at : at + 4] = draw.integers(0, 99, (32, 4))
        elif is_matrix and base == "HMMA":
            type_ = np.float32 if name == "c" else np.float16
            drawn = draw.integers(-9, 9, (32, 4 * n // type_().nbytes)).astype(type_)
            words[:, at : at + n] = drawn.view(np.uint32)
        elif base == "SHFL" and name in "bc":
            words[:, at] = draw.choice(SEGMENTS) if name == "c" else draw.integers(0, 36)
        elif name == "expected" and draw.random() < 0.5:
            words[0, at : at + n] = memory[warp.AT : warp.AT + 4 * n].view(np.uint32)
    lanes = [values_of(inputs, words[k]) if mask >> k & 1 else None for k in range(warp.LANES)]
    return words, lanes, mask, memory


def values_of(inputs, words):
    found = {}
    for name, (at, n) in inputs.items():
        if at is None:
            found[name] = n
        elif n == 0:
            found[name] = int(words[0]) >> at & 1
        else:
            found[name] = sum(int(words[at + k]) << 32 * k for k in range(n))
    return found


def differs(row, run, number, inputs, draw):
    """Return the first difference between a row and its model; None if there is none."""
    n_words = {slot.name: 4 if slot.kind == "u32x4" else 2 if slot.kind[1:] in ("64", "32x2") else 1
               for slot in row.slots if slot.is_result}  # fmt: skip
    for _ in range(N_TIMES):
        words, lanes, mask, memory = given_to(row, inputs, draw)
        out, left = run(number, words, mask, memory)
        if row_model := model(row):
            data = bytes(memory[warp.AT :])
            wanted, after = row_model(lanes, warp.MASK, data)
            if bytes(left[warp.AT :]) != bytes(after):
                return f"memory {data[:8].hex()} → {bytes(left[warp.AT :])[:8].hex()}"
            for lane, results in enumerate(wanted):
                for name, value in (results or {}).items():
                    at = {"d": warp.D, "p": warp.P, "barrier_result": 14}[name]
                    if name != "barrier_result" and name not in n_words:
                        continue
                    n = n_words.get(name, 1)
                    seen = sum(int(out[lane, at + k]) << 32 * k for k in range(n))
                    if seen != value & ((1 << 32 * n) - 1):
                        return f"lane {lane}: {name} is {seen:#x}, not {value:#x} of {lanes[lane]}"
        events = EVENTS.get(base_of(row))
        if events and tuple(bool(n) for n in out[0, 10:13]) != tuple(map(bool, events)):
            return f"fences, barriers, traps: {out[0, 10:13]}"
    return None


def failures(work, folder):
    """Return the rows of (row, C, inputs) that differ from their models."""
    bodies = {}
    for _, body, _ in work:
        bodies.setdefault(body, len(bodies))
    run = warp.compiled(bodies, folder)
    found = {}
    for row, body, inputs in work:
        said = differs(row, run, bodies[body], inputs, np.random.default_rng(len(found)))
        found[row, body] = said
    return found


def test_every_row_of_memory_and_warps_does_what_its_mnemonic_says(tmp_path):
    found = failures([(row, *warp.body_of(row)) for row in ROWS], tmp_path)
    wrong = [(row.sass, said) for (row, _), said in found.items() if said]
    assert not wrong, "\n".join(map(str, wrong[:20]))


def changed(chosen, folder, most=None):
    """Return how many changes of rows were made, and those that no model noticed."""
    work, made = [], {}
    for row in chosen:
        body, inputs = warp.body_of(row)
        for c in list(flips(row.c))[:most]:
            work.append((row, body.replace(row.c, c), inputs))
            made[row, work[-1][1]] = c
    found = failures(work, folder)
    return len(work), [
        (row.sass, made[row, body]) for (row, body), said in found.items() if not said
    ]


CHANGEABLE = [row for row in ROWS if base_of(row) not in UNCHANGED]


def test_a_changed_row_is_noticed(tmp_path):
    chosen = {(row.entry, row.form): row for row in CHANGEABLE}.values()
    n, unnoticed = changed(chosen, tmp_path, most=1)
    assert n > 60
    assert not unnoticed


def test_every_row_that_names_memory_has_a_model_or_changes_nothing():
    bases = {base_of(row) for row in ROWS} | UNCHANGED
    tables = {base_of(row) for forms in rows().values() for row in forms
              if any(slot.kind in ("global", "near", "bank") for slot in row.slots)}  # fmt: skip
    assert tables <= bases
