"""Conversions of 8-bit floating-point numbers, as C++ and CUDA write them.

Both directions round, overflow and keep NaN as torch 2.13 and NVIDIA's GPUs do: e4m3fn has no
infinity and becomes its largest number, 448, where older torch gives NaN; e5m2 overflows to
infinity. Sums with a power of two round subnormal
numbers to nearest, ties to even, at the place of their last digit.
"""

from __future__ import annotations

_FROM = {
    "float8_e4m3fn": """\
    const {unsigned} magnitude = {byte} & 0x7f;
    const float normal = {as_float}((magnitude << 20) + (120u << 23));
    const float value = magnitude < 8 ? (float)(int)magnitude * 0.001953125f : normal;  // 2^-9
    const {unsigned} bits = magnitude == 0x7f ? 0x7fc00000u : {as_bits}(value);
    return {as_float}((({unsigned}){byte} & 0x80) << 24 | bits);
""",
    "float8_e5m2": """\
    const {unsigned} magnitude = {byte} & 0x7f;
    const {unsigned} bias = magnitude < 0x7c ? 112u << 23 : 224u << 23;
    const float normal = {as_float}((magnitude << 21) + bias);
    const float value = magnitude < 4 ? (float)(int)magnitude * 0.0000152587890625f : normal;
    return {as_float}((({unsigned}){byte} & 0x80) << 24 | {as_bits}(value));
""",
}
_TO = {
    "float8_e4m3fn": """\
    const {unsigned} w = {as_bits}(f), magnitude = w & 0x7fffffffu;
    const {unsigned} normal = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - 960;
    const {unsigned} below = {as_bits}({as_float}(magnitude) + 16384.f) - 0x46800000u;
    const {unsigned} rounded = magnitude < 121u << 23 ? below : normal;
    const {unsigned} largest = magnitude > 0x7f800000u ? 0x7f : 0x7e;
    return (w >> 24 & 0x80) | (rounded > largest || largest == 0x7f ? largest : rounded);
""",
    "float8_e5m2": """\
    const {unsigned} w = {as_bits}(f), magnitude = w & 0x7fffffffu;
    const {unsigned} normal = ((magnitude + 0xfffffu + (magnitude >> 21 & 1)) >> 21) - 448;
    const {unsigned} below = {as_bits}({as_float}(magnitude) + 128.f) - 0x43000000u;
    const {unsigned} rounded = magnitude < 113u << 23 ? below : normal;
    const {unsigned} largest = magnitude > 0x7f800000u ? 0x7f : 0x7c;
    return (w >> 24 & 0x80) | (rounded > largest || largest == 0x7f ? largest : rounded);
""",
}
FLOAT8 = tuple(_FROM)


def widening(dtype: str, *, byte: str, unsigned: str, as_float: str, as_bits: str) -> str:
    """Return the lines that return the float32 value of a number whose bits are ``byte``."""
    return _FROM[dtype].format(byte=byte, unsigned=unsigned, as_float=as_float, as_bits=as_bits)


def narrowing(dtype: str, *, unsigned: str, as_float: str, as_bits: str) -> str:
    """Return the lines that return the bits of the number nearest to the float32 value ``f``."""
    return _TO[dtype].format(unsigned=unsigned, as_float=as_float, as_bits=as_bits)
