"""Programs that print nothing are compared by the bytes that they copy from the device."""

from pathlib import Path

import numpy as np

from kernelwright.port.compared import COPIES, Left
from kernelwright.port.emulated import Reference


def test_a_run_that_copies_other_numbers_differs():
    wanted = np.arange(1, 5, dtype=np.float32)
    found = Reference((Left(0, "", copies=wanted.tobytes()),) * 2, (), ((COPIES, 4),), (), Path())
    assert found.differences(Left(0, "", copies=wanted.tobytes()), 1.0) == []
    assert found.differences(Left(0, "", copies=(2 * wanted).tobytes()), 1.0)
    assert found.differences(Left(0, ""), 1.0)
    printed = Reference(found.runs, (), (("output", 1),), (), Path())
    assert printed.differences(Left(0, "", copies=(2 * wanted).tobytes()), 1.0) == []
