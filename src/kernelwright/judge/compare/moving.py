"""Operators that move numbers, or choose among them, and compute none."""

from __future__ import annotations

from typing import Any

VIEWS = """alias as_strided detach diagonal expand expand_as imag lift_fresh movedim narrow permute
real reshape select slice split split_with_sizes squeeze swapaxes t transpose unbind unfold
unsqueeze view view_as view_as_complex view_as_real _reshape_alias _unsafe_view"""
COPIES = """cat clone contiguous copy _to_copy diag_embed flip index index_select gather take
embedding masked_select repeat roll rot90 stack tril triu where channel_shuffle im2col pixel_shuffle
pixel_unshuffle _unsafe_index upsample_nearest1d upsample_nearest2d upsample_nearest3d
_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d"""
PADDING = """constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
replication_pad2d replication_pad3d"""
WRITING = """diagonal_scatter fill index_copy index_fill index_put _index_put_impl _unsafe_index_put
masked_fill masked_scatter scatter select_scatter slice_scatter zero"""
MAKING = """eye full full_like new_full new_ones new_zeros ones ones_like scalar_tensor zeros
zeros_like"""
"""Operators that make empty tensors are missing: something fills those, and not always an
operator."""
CHOOSING = """amax amin aminmax clamp clamp_max clamp_min cummax cummin fmax fmin hardtanh kthvalue
max maximum median min minimum nanmedian relu sort threshold topk adaptive_max_pool2d
adaptive_max_pool3d max_pool2d_with_indices max_pool3d_with_indices"""
SIGNS = "abs neg"
MOVING = frozenset(" ".join((VIEWS, COPIES, PADDING, WRITING, MAKING, CHOOSING, SIGNS)).split())
"""Names without the underscore of the in-place forms."""
N_BEFORE_ACCUMULATE = 3
"""Arguments of ``index_put`` before the one that says whether it adds."""


def moves(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operator's floating-point results are numbers that it was given, or their
    negatives."""
    name = func.overloadpacket.__name__.removesuffix("_")
    if name not in MOVING or "reduce" in func._overloadname:
        return False
    if "index_put" in name:
        return not (kwargs.get("accumulate", False) or any(args[N_BEFORE_ACCUMULATE:]))
    return True
