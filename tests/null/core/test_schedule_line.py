"""The schedule line of a file: read, written anew, and refused where it decides nothing."""

import random

import pytest

from kernelwright.core import schedule_line
from kernelwright.core.schedule_line import KNOBS

FILE = """import triton

TILE_M, PRECISION, WARPS = 64, "ieee", 4


def forward(x):
    return kernel[(TILE_M,)](x, PRECISION, num_warps=WARPS)
"""
SCHEDULE = {"TILE_M": 64, "PRECISION": "ieee", "WARPS": 4}


def test_a_schedule_is_read_and_another_one_changes_nothing_else():
    assert schedule_line.read(FILE) == SCHEDULE
    other = {"WARPS": 8, "TILE_M": 128, "PRECISION": "tf32x3"}
    text = schedule_line.rewritten(FILE, other)
    assert schedule_line.read(text) == other
    assert [*schedule_line.read(text)] == [*SCHEDULE]
    changed = [(a, b) for a, b in zip(FILE.split("\n"), text.split("\n"), strict=True) if a != b]
    assert changed == [
        ('TILE_M, PRECISION, WARPS = 64, "ieee", 4', 'TILE_M, PRECISION, WARPS = 128, "tf32x3", 8')
    ]
    assert schedule_line.rewritten(text, SCHEDULE) == FILE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num_warps=WARPS", "num_warps=4"),  # nothing reads one of its names
        (", 4\n", ", 5\n"),  # five warps are none of the values
        (", 4\n", ", True\n"),
        ("WARPS = 64", "OTHERS = 64"),
        ("    return", "    WARPS = 8\n    return"),  # another line sets it too
        (
            'TILE_M, PRECISION, WARPS = 64, "ieee", 4',
            'TILE_M, PRECISION, WARPS = (\n 64, "ieee", 4)',
        ),
        (", 4\n", ", 4; other = 1\n"),  # another statement would be lost with the line
        ("\n\ndef", "\nWARPS = 4\n\n\ndef"),
        ("import", "import ("),
    ],
)
def test_a_line_that_does_not_decide_the_schedule_is_none(old, new):
    text = FILE.replace(old, new)
    assert text != FILE
    assert schedule_line.read(text) == {}
    with pytest.raises(ValueError, match="the file's schedule is"):
        schedule_line.rewritten(text, SCHEDULE)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_the_line_is_found_whatever_ends_lines(end):
    text = FILE.replace("import triton\n", f"import triton{end}\f\n")
    other = {**SCHEDULE, "WARPS": 8}
    assert schedule_line.rewritten(text, other) == text.replace('"ieee", 4', '"ieee", 8')


def test_a_schedule_of_other_names_or_values_is_refused():
    with pytest.raises(ValueError, match="not one of"):
        schedule_line.rewritten(FILE, {"TILE_M": 64})
    with pytest.raises(ValueError, match="not among"):
        schedule_line.rewritten(FILE, {**SCHEDULE, "WARPS": 5})


def test_neighbours_differ_by_one_step_of_one_knob():
    found = [*schedule_line.neighbours(SCHEDULE)]
    assert {**SCHEDULE, "WARPS": 8} in found
    assert {**SCHEDULE, "PRECISION": "tf32x3"} in found
    assert len(found) == 5
    for other in found:
        (name,) = [name for name in SCHEDULE if other[name] != SCHEDULE[name]]
        places = [KNOBS[name].index(each[name]) for each in (SCHEDULE, other)]
        assert abs(places[0] - places[1]) == 1


def test_a_draw_gives_every_value():
    drawn = [schedule_line.drawn(["WARPS", "PRECISION"], random.Random(n)) for n in range(60)]
    assert {each["WARPS"] for each in drawn} == set(KNOBS["WARPS"])
    assert {each["PRECISION"] for each in drawn} == set(KNOBS["PRECISION"])
