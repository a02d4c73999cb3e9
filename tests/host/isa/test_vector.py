"""Vector instructions against models in numpy, on edge values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tests.host.isa.snippets import Snippets, assembled

from kernelwright.isa import LaunchError, isa_missing

pytestmark = pytest.mark.skipif(isa_missing() is not None, reason=str(isa_missing()))

WORDS = np.array(
    [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000, 0xDEADBEEF,
     0x00FF00FF, 0xFFFFFF, 0x800000, 0x12345678], np.uint32
)  # fmt: skip
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-40, 1.17549435e-38, 3.4028235e38, -3.4028235e38,
     np.inf, -np.inf, np.nan, 3.0, 1e10, -2.5], np.float32
)  # fmt: skip
A, B = np.repeat(WORDS, 2)[:32], np.tile(WORDS, 2)
F = np.tile(FLOATS, 2)
G = np.concatenate([FLOATS, np.roll(FLOATS, 5)])
Model = Callable[[np.ndarray, np.ndarray], np.ndarray]


def signed(words: np.ndarray) -> np.ndarray:
    return words.view(np.int32)


def extreme(a: np.ndarray, b: np.ndarray, chosen: Model) -> np.ndarray:
    """Return the less or greater of each pair: a number rather than a NaN, zeros by their sign."""
    by_sign = np.copysign(np.float32(0), chosen(np.copysign(1, a), np.copysign(1, b)))
    found = np.where((a == 0) & (b == 0), by_sign, chosen(a, b))
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, found))


INTEGER: dict[str, Model] = {
    "v_add_nc_u32": lambda a, b: a + b,
    "v_sub_nc_u32": lambda a, b: a - b,
    "v_subrev_nc_u32": lambda a, b: b - a,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: (a.astype(np.uint64) * b) >> np.uint64(32),
    "v_mul_hi_i32": lambda a, b: (signed(a).astype(np.int64) * signed(b)) >> np.int64(32),
    "v_lshlrev_b32": lambda a, b: b << (a & 31),
    "v_lshrrev_b32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32": lambda a, b: signed(b) >> signed(a & 31),
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_xnor_b32": lambda a, b: ~(a ^ b),
    "v_min_u32": np.minimum,
    "v_max_u32": np.maximum,
    "v_min_i32": lambda a, b: np.minimum(signed(a), signed(b)),
    "v_max_i32": lambda a, b: np.maximum(signed(a), signed(b)),
    "v_mul_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_bcnt_u32_b32": lambda a, b: np.array([int(x).bit_count() for x in a]) + b,
    "v_bfm_b32": lambda a, b: ((np.uint32(1) << (a & 31)) - np.uint32(1)) << (b & 31),
}
FLOAT: dict[str, Model] = {
    "v_add_f32": lambda a, b: a + b,
    "v_sub_f32": lambda a, b: a - b,
    "v_mul_f32": lambda a, b: a * b,
    "v_min_f32": lambda a, b: extreme(a, b, np.minimum),
    "v_max_f32": lambda a, b: extreme(a, b, np.maximum),
}
DIVISION = """
  v_div_scale_f32 v30, null, v11, v11, v10
  v_div_scale_f32 v31, vcc_lo, v10, v11, v10
  v_rcp_f32 v32, v30
  v_fma_f32 v33, -v30, v32, 1.0
  v_fmac_f32 v32, v33, v32
  v_mul_f32 v33, v31, v32
  v_fma_f32 v34, -v30, v33, v31
  v_fmac_f32 v33, v34, v32
  v_fma_f32 v30, -v30, v33, v31
  v_div_fmas_f32 v30, v30, v32, v33
  v_div_fixup_f32 v20, v30, v11, v10
"""
"""The sequence that clang makes of a float division."""
SNIPPETS = {
    **{name: f"  {name} v20, v10, v11" for name in (*INTEGER, *FLOAT)},
    "carries": """
  v_add_co_u32 v20, vcc_lo, v10, v12
  v_add_co_ci_u32 v21, vcc_lo, v11, v13, vcc_lo
  v_sub_co_u32 v22, s10, v10, v12
  v_sub_co_ci_u32 v23, s10, v11, v13, s10""",
    "long_product": "  v_mad_u64_u32 v[20:21], s10, v10, v11, v[12:13]",
    "dual": "  v_dual_mov_b32 v20, v11 :: v_dual_mov_b32 v21, v10\n"
    "  v_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20",
    "bits": "  v_bfe_i32 v20, v10, 4, 8\n  v_bfrev_b32 v21, v10\n  v_clz_i32_u32 v22, v10\n"
    "  v_perm_b32 v23, v10, v11, v12",
    "shift_of_64": "  v_lshlrev_b64 v[20:21], v10, v[12:13]\n"
    "  v_ashrrev_i64 v[22:23], v10, v[12:13]",
    "signs": "  v_add_f32 v20, -v10, |v11|\n  v_mul_f32 v21, v10, v11 clamp\n"
    "  v_mul_f32 v22, v10, v11 mul:2\n  v_fma_f32 v23, v10, v11, -v10",
    "division": DIVISION,
    "conversions": "  v_cvt_i32_f32 v20, v10\n  v_cvt_u32_f32 v21, v10\n  v_cvt_f32_i32 v22, v11\n"
    "  v_cvt_f16_f32 v23, v10",
    "halves": "  v_pk_fma_f16 v20, v10, v11, v10 op_sel:[0,1,0] op_sel_hi:[1,0,1]\n"
    "  v_pk_add_u16 v21, v10, v11 clamp\n  v_fma_mix_f32 v22, v10, v11, v12 op_sel_hi:[1,0,0]\n"
    "  v_dot4_i32_iu8 v23, v10, v11, v12 neg_lo:[1,1,0]",
    "flushing": "  s_denorm_mode 0\n  v_add_f32 v20, v10, v11\n  s_denorm_mode 15\n"
    "  v_add_f32 v21, v10, v11",
    "rounding": "  s_round_mode 3\n  v_add_f32 v20, v10, v11\n  s_round_mode 1\n"
    "  v_add_f32 v21, v10, v11\n  s_round_mode 0\n  v_add_f32 v22, v10, v11",
    "classes": "  v_cmp_class_f32 s10, v10, v11\n  v_mov_b32 v20, s10\n"
    "  v_cmp_nlt_f32 s10, v10, v12\n  v_mov_b32 v21, s10",
    "transcendental": "  v_exp_f32 v20, v10\n  v_log_f32 v21, v11\n  v_rsq_f32 v22, v11\n"
    "  v_sin_f32 v23, v10",
    "unknown_modifier": "  v_add_f32 v20, v10, v11\n  v_cvt_pk_u8_f32 v20, v10, v11, v12",
}


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Snippets:
    return assembled(SNIPPETS, tmp_path_factory.mktemp("vector"))


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    """Compare as bits, but any NaN equals any other."""
    floats = np.asarray(wanted).astype(np.float32)
    bits = np.where(np.isnan(floats), 0, floats.view(np.uint32))
    found = np.where(np.isnan(got.view(np.float32)), 0, got)
    np.testing.assert_array_equal(np.isnan(got.view(np.float32)), np.isnan(floats))
    np.testing.assert_array_equal(found, bits)


@pytest.mark.parametrize("name", INTEGER)
def test_integer_operations_agree_with_numpy(name: str, snippets: Snippets) -> None:
    wanted = INTEGER[name](A, B).astype(np.int64) & 0xFFFFFFFF
    np.testing.assert_array_equal(snippets.run(name, A, B)[0], wanted)


@pytest.mark.parametrize("name", INTEGER)
def test_integer_operations_agree_with_numpy_on_random_words(name: str, snippets: Snippets) -> None:
    numbers = np.random.default_rng(7)
    for _ in range(20):
        a, b = numbers.integers(0, 1 << 32, (2, 32), np.uint32)
        wanted = INTEGER[name](a, b).astype(np.int64) & 0xFFFFFFFF
        np.testing.assert_array_equal(snippets.run(name, a, b)[0], wanted)


@pytest.mark.parametrize("name", FLOAT)
def test_float_operations_agree_with_numpy(name: str, snippets: Snippets) -> None:
    with np.errstate(all="ignore"):
        for shift in range(16):
            same(snippets.run(name, F, np.roll(F, shift))[0], FLOAT[name](F, np.roll(F, shift)))


def test_a_nan_that_an_operation_makes_is_positive(snippets: Snippets) -> None:
    infinite = np.array([np.inf], np.float32)
    assert snippets.run("v_sub_f32", infinite, infinite)[0][0] == 0x7FC00000


def test_carries_chain_over_two_words(snippets: Snippets) -> None:
    numbers = np.random.default_rng(1)
    x, y = numbers.integers(0, 1 << 64, (2, 32), np.uint64)
    x[:3], y[:3] = [2**64 - 1, 0, 1 << 32], [1, 1, 2**64 - (1 << 32)]
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    left = snippets.run("carries", x & low, x >> high, y & low, y >> high).astype(np.uint64)
    np.testing.assert_array_equal(left[0] | left[1] << high, x + y)
    np.testing.assert_array_equal(left[2] | left[3] << high, x - y)


def test_products_of_64_bits_add_a_third_operand(snippets: Snippets) -> None:
    left = snippets.run("long_product", A, B, B, A).astype(np.uint64)
    wanted = A.astype(np.uint64) * B + (B | A.astype(np.uint64) << np.uint64(32))
    np.testing.assert_array_equal(left[0] | left[1] << np.uint64(32), wanted)


def test_both_halves_of_a_dual_instruction_read_before_either_writes(snippets: Snippets) -> None:
    left = snippets.run("dual", A, B)
    np.testing.assert_array_equal(left[0], A)
    np.testing.assert_array_equal(left[1], B)


def test_fields_and_bytes(snippets: Snippets) -> None:
    left = snippets.run("bits", [0x00000FF0, 0, 1], [0x11223344], [0x0C070400])
    assert list(left[0][:3]) == [0xFFFFFFFF, 0, 0]
    assert list(left[1][:3]) == [0x0FF00000, 0, 0x80000000]
    assert list(left[2][:3]) == [20, 0xFFFFFFFF, 31]
    assert left[3][0] == 0x0000F044


def test_shifts_of_64_bits_take_six_bits_of_the_amount(snippets: Snippets) -> None:
    left = snippets.run("shift_of_64", [0, 1, 33, 63, 64], [0] * 5, [1] * 5, [0x80000000] * 5)
    assert list(left[0][:5]) == [1, 2, 0, 0, 1]
    assert list(left[1][:5]) == [0x80000000, 0, 2, 0x80000000, 0x80000000]
    assert list(left[3][:5]) == [0x80000000, 0xC0000000, 0xFFFFFFFF, 0xFFFFFFFF, 0x80000000]


def test_modifiers_of_sources_and_results(snippets: Snippets) -> None:
    with np.errstate(all="ignore"):
        left = snippets.run("signs", F, G)
        same(left[0], -F + np.abs(G))
        product = (F * G).astype(np.float32)
        same(left[1], np.where(np.isnan(product), 0, np.clip(product, 0, 1)) + np.float32(0))
        same(left[2], product * np.float32(2))


def test_the_sequence_of_a_division_is_correctly_rounded(snippets: Snippets) -> None:
    numbers = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for trial in range(60):
            a = numbers.integers(0, 1 << 32, 32, np.uint32).view(np.float32)
            b = np.roll(F, trial) if trial < 16 else np.roll(a, 1)
            same(snippets.run("division", F if trial < 16 else a, b)[0],
                 (F if trial < 16 else a) / b)  # fmt: skip


def test_conversions_saturate_and_round(snippets: Snippets) -> None:
    left = snippets.run("conversions", np.array([np.nan, 3e9, -3e9, -1.5, 65520.0], np.float32),
                        [0xFFFFFFFF])  # fmt: skip
    assert list(left[0][:5]) == [0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 65520]
    assert list(left[1][:5]) == [0, 3_000_000_000, 0, 0, 65520]
    assert left[2].view(np.float32)[0] == -1.0
    assert left[3][4] == 0x7C00


def test_halves_are_chosen_and_saturate(snippets: Snippets) -> None:
    def pair(low: float, high: float) -> int:
        return int(np.array([low, high], np.float16).view(np.uint32)[0])

    left = snippets.run("halves", [pair(2, 3)], [pair(5, 7)], np.array([1.0], np.float32))
    assert left[0][0] == pair(2 * 7 + 2, 3 * 5 + 3)
    third = np.array([pair(5, 7)], np.uint32).view(np.float32)[0]
    assert left[2].view(np.float32)[0] == np.float32(2) * third + np.float32(1)
    sums = snippets.run("halves", [0xFFFF0001], [0x00020003], [10])
    assert sums[1][0] == 0xFFFF0004
    dots = snippets.run("halves", [0xFF02FF03], [0x01020304], [10])
    assert dots[3][0] == (-1 * 1 + 2 * 2 - 1 * 3 + 3 * 4 + 10) & 0xFFFFFFFF


def test_denormal_numbers_are_kept_or_flushed_as_the_mode_says(snippets: Snippets) -> None:
    left = snippets.run("flushing", [1, 0x80000001], [1, 0x80000000])
    assert list(left[0][:2]) == [0, 0x80000000]
    assert list(left[1][:2]) == [2, 0x80000001]


def test_sums_are_rounded_as_the_mode_says(snippets: Snippets) -> None:
    left = snippets.run("rounding", np.array([1.0], np.float32), np.array([2.0**-24], np.float32))
    assert [left[k][0] for k in range(3)] == [0x3F800000, 0x3F800001, 0x3F800000]


def test_classes_and_unordered_comparisons(snippets: Snippets) -> None:
    values = np.array([np.nan, -np.inf, -1, -1e-40, -0.0, 0.0, 1e-40, 1, np.inf], np.float32)
    masks = [3, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200]
    left = snippets.run("classes", values, masks, np.zeros(9, np.float32))
    assert left[0][0] == 0x1FF
    assert left[1][0] & 0x1FF == 0b111110001


def test_transcendental_results_are_within_one_unit_in_the_last_place(snippets: Snippets) -> None:
    x = np.linspace(-8, 8, 32).astype(np.float32)
    y = np.linspace(1e-3, 50, 32).astype(np.float32)
    left = snippets.run("transcendental", x, y).view(np.float32)
    wide, deep = x.astype(np.float64), y.astype(np.float64)
    wanted = (np.exp2(wide), np.log2(deep), 1 / np.sqrt(deep))
    for row, exact in zip(left, wanted, strict=False):
        assert np.all(np.abs(row - exact) <= np.spacing(np.abs(exact).astype(np.float32)))
    np.testing.assert_allclose(left[3], np.sin(2 * math.pi * wide), atol=1e-6)


def test_an_unknown_instruction_is_named_and_ends_the_launch(snippets: Snippets) -> None:
    with pytest.raises(LaunchError, match="emulator gap: v_cvt_pk_u8_f32"):
        snippets.run("unknown_modifier")
    assert any("v_cvt_pk_u8_f32" in text for text in snippets.emulator.unknown)
