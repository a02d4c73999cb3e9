"""The tables: each row names its operands, uses them, and is the only one of its kind."""

import re
from collections import Counter

from kernelwright.lift.operands import READERS
from kernelwright.lift.rows import rows

ROWS = [row for forms in rows().values() for row in forms]
UNREAD = {
    "mask",
    "end",
    "barrier",
    "predicates",
    "zero",
    "none",
    "here",
    "reason",
    "n",
    "at",
    "low",
    "high",
}
"""Operands that a row has to have and may leave unread."""


def test_a_mnemonic_has_one_row_for_one_form():
    twice = [key for key, n in Counter((row.sass, row.form) for row in ROWS).items() if n > 1]
    assert not twice


def test_rows_set_each_result_and_read_each_operand():
    for row in ROWS:
        for slot in row.slots:
            used = re.search(rf"\b{slot.name}\b", row.c)
            assert used or slot.name in UNREAD, (row.sass, slot)
            if slot.is_result:
                assert re.search(rf"\b{slot.name} = |&{slot.name}\b", row.c), (row.sass, slot)


def test_no_hole_is_left_in_a_row():
    for row in ROWS:
        assert not re.search(r"<\w+>|\{\w+\}|\.\.|\.$", f"{row.sass} {row.form}"), row
        assert not re.search(r"<[a-z0-9_]+>", row.c), row


def test_literal_operands_look_like_words_of_sass():
    """A kind that is misspelt would be taken for a word that has to stand in the text."""
    for row in ROWS:
        for slot in row.slots:
            assert slot.kind in READERS or re.fullmatch(r"[A-Z][\w.]*|0x0", slot.kind), row
