"""Waves: wait counts, bounds, LDS, lanes that read lanes, scalar instructions, matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.host.isa.snippets import Snippets, assembled

from kernelwright.isa import LaunchError, isa_missing

pytestmark = pytest.mark.skipif(isa_missing() is not None, reason=str(isa_missing()))

LANES = np.arange(32, dtype=np.uint32)
SNIPPETS = {
    "no_wait": "  global_load_b32 v20, v1, s[4:5]\n  v_mov_b32 v21, v20",
    "too_short_a_wait": "  global_load_b32 v20, v1, s[4:5]\n  global_load_b32 v21, v1, s[4:5]\n"
    "  s_waitcnt vmcnt(1)\n  v_mov_b32 v22, v20\n  v_mov_b32 v23, v21",
    "long_enough_a_wait": "  global_load_b32 v20, v1, s[4:5]\n  global_load_b32 v21, v1, s[4:5]\n"
    "  s_waitcnt vmcnt(1)\n  v_mov_b32 v22, v20\n  s_waitcnt vmcnt(0)\n  v_mov_b32 v23, v21",
    "scalar_wait": "  s_load_b32 s10, s[0:1], 0x0\n  s_load_b32 s11, s[0:1], 0x4\n"
    "  s_waitcnt lgkmcnt(1)\n  s_mov_b32 s12, s10",
    "outside_memory": "  v_add_nc_u32 v30, 0x40000000, v1\n  global_load_b32 v20, v30, s[4:5]",
    "outside_lds": "  v_mov_b32 v30, 1024\n  ds_store_b32 v30, v10",
    "outside_scratch": "  scratch_store_b32 off, v10, off offset:64",
    "scratch": "  scratch_store_b32 off, v10, off offset:60\n"
    "  scratch_load_b32 v20, off, off offset:60\n  s_waitcnt vmcnt(0)",
    "lds_atomics": "  v_mov_b32 v30, 0\n  ds_store_b32 v30, v30\n  s_waitcnt lgkmcnt(0)\n"
    "  ds_add_rtn_u32 v20, v30, v10\n  s_waitcnt lgkmcnt(0)\n  ds_load_b32 v21, v30\n"
    "  ds_max_rtn_i32 v22, v30, v11\n  s_waitcnt lgkmcnt(0)",
    "exchanges": "  v_mov_b32 v30, 0\n  v_mov_b32 v31, 7\n  v_mov_b32 v32, 9\n"
    "  ds_store_b32 v30, v31\n  ds_cmpstore_rtn_b32 v20, v30, v32, v31\n"
    "  s_waitcnt lgkmcnt(0)\n  ds_load_b32 v21, v30\n  s_waitcnt lgkmcnt(0)",
    "permutes": "  ds_bpermute_b32 v20, v11, v10\n  ds_permute_b32 v21, v11, v10\n"
    "  ds_swizzle_b32 v22, v10 offset:swizzle(SWAP,16)\n  s_waitcnt lgkmcnt(0)",
    "moves": "  v_mov_b32_dpp v20, v10 row_shr:1 row_mask:0xf bank_mask:0xf\n"
    "  v_mov_b32_dpp v21, v10 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\n"
    "  v_mov_b32_dpp v22, v10 row_ror:4 row_mask:0x1 bank_mask:0xf\n"
    "  v_mov_b32_dpp v23, v10 row_shl:15 row_mask:0xf bank_mask:0xf bound_ctrl:1",
    "masked": "  v_cmp_lt_u32 vcc_lo, 15, v10\n  s_and_saveexec_b32 s10, vcc_lo\n"
    "  v_mov_b32 v20, 1\n  s_xor_b32 exec_lo, exec_lo, s10\n  v_mov_b32 v20, 2\n"
    "  s_mov_b32 exec_lo, s10\n  v_mbcnt_lo_u32_b32 v21, vcc_lo, 0\n"
    "  v_readlane_b32 s11, v10, 5\n  v_mov_b32 v22, s11",
    "scalars": "  s_mov_b32 s10, 0x80000001\n  s_bfe_i32 s11, s10, 0x10004\n  s_bfe_u32 s12, s10, "
    "0x1f0001\n  s_ashr_i32 s13, s10, 33\n  s_addc_u32 s14, s10, s10\n  v_mov_b32 v20, s11\n"
    "  v_mov_b32 v21, s12\n  v_mov_b32 v22, s13\n  v_mov_b32 v23, s14",
    "loop": "  s_mov_b32 s10, 10\n  s_mov_b32 s11, 0\nadd:\n  s_add_i32 s11, s11, s10\n"
    "  s_sub_i32 s10, s10, 1\n  s_cmp_lg_u32 s10, 0\n  s_cbranch_scc1 add\n  v_mov_b32 v20, s11",
    "matrix": "\n".join(f"  v_mov_b32 v{40 + k}, v{10 + k % 4}" for k in range(16))
    + "\n  v_wmma_f32_16x16x16_f16 v[60:67], v[40:47], v[48:55], 0\n"
    + "\n".join(f"  v_mov_b32 v{20 + k}, v{60 + 2 * k}" for k in range(4)),
    "trap": "  s_trap 2",
}
CDNA = {
    "parts": "  v_add_u32_sdwa v20, v10, v11 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 "
    "src1_sel:WORD_1\n  v_mov_b32_sdwa v21, sext(v10) dst_sel:DWORD dst_unused:UNUSED_PAD "
    "src0_sel:BYTE_3",
    "words": "  v_pk_mov_b32 v[20:21], v[10:11], v[12:13] op_sel:[1,0]\n"
    "  v_pk_mov_b32 v[22:23], v[10:11], v[12:13] op_sel:[0,1]",
    "matrix": "  v_mov_b32 v32, v10\n  v_mov_b32 v33, v11\n  v_mov_b32 v34, v12\n"
    "  v_mov_b32 v35, v13\n  v_mfma_f32_16x16x16_f16 v[20:23], v[32:33], v[34:35], 0",
}


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return assembled(SNIPPETS, tmp_path_factory.mktemp("waves"))


@pytest.fixture(scope="module")
def cdna(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return assembled(CDNA, tmp_path_factory.mktemp("cdna"), "gfx942")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_wait", "wait: v20 is used before the wait for its load: v_mov_b32_e32 v21, v20"),
        ("too_short_a_wait", "wait: v21 is used"),
        ("scalar_wait", "wait: s10 is used"),
        ("outside_memory", "out-of-bounds: 4 bytes at"),
        ("outside_lds", "out-of-bounds: 4 bytes at 0x400 of 1024 bytes of LDS"),
        ("outside_scratch", "out-of-bounds: 4 bytes at 0x40 of 64 bytes of scratch"),
        ("trap", "trap: s_trap 2"),
    ],
)
def test_what_no_gpu_may_do_ends_the_launch(name: str, said: str, waves: Snippets) -> None:
    with pytest.raises(LaunchError, match=said):
        waves.run(name)


def test_loads_complete_in_order(waves: Snippets) -> None:
    left = waves.run("long_enough_a_wait", LANES)
    np.testing.assert_array_equal(left[2:], [LANES, LANES])


def test_scratch_is_kept_by_lane(waves: Snippets) -> None:
    np.testing.assert_array_equal(waves.run("scratch", LANES)[0], LANES)


def test_atomics_of_lds_return_what_was_there(waves: Snippets) -> None:
    left = waves.run("lds_atomics", LANES + 1, np.full(32, -5))
    np.testing.assert_array_equal(left[0], np.cumsum(LANES))
    assert set(left[1]) == {528} and set(left[2]) == {528}
    left = waves.run("exchanges")
    assert left[0][0] == 7 and set(left[0][1:]) == {9} and set(left[1]) == {9}


def test_lanes_read_lanes(waves: Snippets) -> None:
    left = waves.run("permutes", LANES, 4 * ((LANES + 3) % 32))
    np.testing.assert_array_equal(left[0], (LANES + 3) % 32)
    np.testing.assert_array_equal(left[1], (LANES - 3) % 32)
    np.testing.assert_array_equal(left[2], LANES ^ 16)
    left = waves.run("moves", LANES)
    np.testing.assert_array_equal(left[0], np.where(LANES % 16 == 0, 0, LANES - 1))
    np.testing.assert_array_equal(left[1], LANES ^ 3)
    np.testing.assert_array_equal(left[2], np.where(LANES < 16, (LANES - 4) % 16, 0))
    np.testing.assert_array_equal(left[3], np.where(LANES % 16 == 0, LANES + 15, 0))


def test_inactive_lanes_keep_their_values(waves: Snippets) -> None:
    left = waves.run("masked", LANES)
    np.testing.assert_array_equal(left[0], np.where(LANES > 15, 1, 2))
    np.testing.assert_array_equal(left[1], np.maximum(LANES.astype(int) - 16, 0))
    assert set(left[2]) == {5}


def test_scalar_fields_shifts_carries_and_loops(waves: Snippets) -> None:
    left = waves.run("scalars")
    assert [row[0] for row in left] == [0, 0x40000000, 0xC0000000, 3]
    assert waves.run("loop")[0][0] == 55


def halves(rows: np.ndarray) -> np.ndarray:
    """Return the f16 elements that each lane holds in some rows: (lanes, elements)."""
    return np.ascontiguousarray(rows.T).view(np.float16).reshape(rows.shape[1], -1)


def test_wmma_multiplies_tiles_of_16_by_16(waves: Snippets) -> None:
    numbers = np.random.default_rng(2)
    given = numbers.integers(-3, 4, (4, 32, 2)).astype(np.float16)
    given[:, 16:] = given[:, :16]
    rows = given.view(np.uint32)[:, :, 0]
    left = waves.run("matrix", *rows).view(np.float32)
    tile = np.tile(halves(rows)[:16].astype(np.float32), 2)
    product = tile @ tile.T
    for k, row in enumerate(left):
        wanted = [product[4 * k + lane // 16, lane % 16] for lane in range(32)]
        np.testing.assert_array_equal(row, wanted)


def test_parts_of_registers_are_read_and_written(cdna: Snippets) -> None:
    left = cdna.run("parts", [0x8000FF00], [0x00010005])
    assert left[0][0] == 0x01000000
    assert left[1][0] == 0xFFFFFF80


def test_a_move_of_two_words_takes_one_of_each_source(cdna: Snippets) -> None:
    left = cdna.run("words", [1], [2], [3], [4])
    assert left[:4, 0].tolist() == [2, 3, 1, 4]


def test_mfma_multiplies_tiles_of_16_by_16(cdna: Snippets) -> None:
    numbers = np.random.default_rng(4)
    rows = numbers.integers(-3, 4, (4, 64, 2)).astype(np.float16).view(np.uint32)[:, :, 0]
    left = cdna.run("matrix", *rows).view(np.float32)
    a, b = (halves(rows[k : k + 2]).astype(np.float32) for k in (0, 2))
    whole_a, whole_b = (
        np.concatenate([x[16 * k : 16 * k + 16] for k in range(4)], axis=1) for x in (a, b)
    )
    product = whole_a @ whole_b.T
    for k, row in enumerate(left):
        wanted = [product[4 * (lane // 16) + k, lane % 16] for lane in range(64)]
        np.testing.assert_array_equal(row, wanted)


def test_executed_instructions_are_counted(tmp_path: Path) -> None:
    one = assembled({"nothing": "  s_nop 0"}, tmp_path)
    one.run("nothing")
    before = one.emulator.executed("nothing")
    one.run("nothing")
    assert one.emulator.executed("nothing") == 2 * before > 0
