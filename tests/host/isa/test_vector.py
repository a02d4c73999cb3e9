"""Vector instructions against models in numpy, on edge values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.host.isa.snippets import Snippets, assembled

from kernelwright.isa import isa_missing

pytestmark = pytest.mark.skipif(isa_missing() is not None, reason=str(isa_missing()))

U = np.array(
    [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000, 0xDEADBEEF,
     0x00FF00FF, 0xFFFFFF, 0x800000, 0x12345678], np.uint32
)  # fmt: skip
A, B = np.repeat(U, 2)[:32], np.tile(U, 2)
BINARY = {
    "v_add_nc_u32": lambda a, b: a + b,
    "v_sub_nc_u32": lambda a, b: a - b,
    "v_subrev_nc_u32": lambda a, b: b - a,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: (a.astype(np.uint64) * b) >> np.uint64(32),
    "v_lshlrev_b32": lambda a, b: b << (a & 31),
    "v_lshrrev_b32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32": lambda a, b: (b.view(np.int32) >> (a & 31).view(np.int32)).view(np.uint32),
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_xnor_b32": lambda a, b: ~(a ^ b),
    "v_min_u32": np.minimum,
    "v_max_i32": lambda a, b: np.maximum(a.view(np.int32), b.view(np.int32)).view(np.uint32),
    "v_mul_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
}


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    snippets = {name: f"  {name} v20, v10, v11" for name in BINARY}
    return assembled(snippets, tmp_path_factory.mktemp("binary"))


@pytest.mark.parametrize("name", BINARY)
def test_integer_operations_agree_with_numpy(name: str, binary: Snippets) -> None:
    wanted = BINARY[name](A, B).astype(np.uint32)
    np.testing.assert_array_equal(binary.run(name, A, B)[0], wanted)
