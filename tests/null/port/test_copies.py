"""Programs that print nothing are compared by the bytes that they copy from the device."""

from pathlib import Path

import numpy as np
import pytest

from kernelwright.port.compared import COPIES, Left, bytes_differ
from kernelwright.port.emulated import Reference


def test_a_run_that_copies_other_numbers_differs():
    wanted = np.arange(1, 5, dtype=np.float32)
    found = Reference((Left(0, "", copies=wanted.tobytes()),) * 2, (), ((COPIES, 4),), (), Path())
    assert found.differences(Left(0, "", copies=wanted.tobytes()), 1.0) == []
    assert found.differences(Left(0, "", copies=(2 * wanted).tobytes()), 1.0)
    assert found.differences(Left(0, ""), 1.0)
    printed = Reference(found.runs, (), (("output", 1),), (), Path())
    assert printed.differences(Left(0, "", copies=(2 * wanted).tobytes()), 1.0) == []


def differ(after, wanted):
    return bool(bytes_differ(np.array(after).tobytes(), np.array(wanted).tobytes(), COPIES))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounding_is_no_difference(kind):
    wanted = np.array([1.5, -2.25, 0.0, 7e8], dtype=kind)
    assert not differ(wanted * kind(1 + 4 * np.finfo(kind).eps), wanted)
    assert not differ(-1 * np.zeros(4, kind), np.zeros(4, kind))
    assert differ(wanted * kind(1.01), wanted)


def test_each_float_is_compared_whatever_stands_beside_it():
    wanted = np.arange(1, 9, dtype=np.float32)
    after = wanted.copy()
    after[::2] = 100.0
    assert differ(after, wanted)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_integers_are_compared_exactly(kind):
    wanted = np.array([100_000, 200_000, 3, 4], dtype=kind)
    assert differ(wanted + np.array([1, 0, 0, 0], dtype=kind), wanted)


def test_bytes_behind_the_last_whole_word_are_compared():
    wanted = np.arange(10, dtype=np.uint8)
    after = wanted.copy()
    after[-1] = 77
    assert differ(after, wanted)
