"""Variants: the ways to rewrite and fuse a captured graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelwright.compiler.codegen.triton.convolution_schedule import MOST_COLUMNS
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.rewrite import (
    BIASES,
    CAPPED,
    IMAGES_TOO,
    LAYOUTS,
    ONE_TAP,
    ORDINARY,
    ROUNDED,
    RULES,
    STEPS,
    Rule,
)

SHORT_ROW = 8192
"""Number of values in a row that a GPU keeps in registers or rereads at almost no cost."""
AGAIN = 80
"""Number of operations that a GPU does while it writes a value and reads it again. An H100 does
128 x 132 at 1.7 GHz, and moves 8 bytes at 3 TB/s: 76."""
IN_TILES = 128
"""Number of rows up to which tiles of weights are unpacked where a product reads them. Chosen: from
about so many a product is bound by arithmetic on an H100, and unpacking costs more of it."""


@dataclass(frozen=True)
class Variant:
    """One way to rewrite and fuse the graph."""

    name: str
    fusion: Fusion
    products: bool = False
    """Whether matrix products and convolutions are own code if the dialect supports it."""
    rules: tuple[Rule, ...] = RULES
    """The rules that rewrite the graph before it is fused."""
    partition: str = "recompute"
    """The way to cut a training step into forward and backward; other graphs ignore it."""


def variants(device_kind: str) -> tuple[Variant, ...]:
    """Return the ways to rewrite and fuse, the most promising first."""
    many_rows = 2 if device_kind == "cpu" else 128  # blocks that keep two cores or a GPU busy
    short_row = 0 if device_kind == "cpu" else SHORT_ROW
    again = 0 if device_kind == "cpu" else AGAIN
    full = Fusion(join_rows=many_rows, short_row=short_row, totals=SHORT_ROW, again=again)
    if device_kind == "metal":  # no time chooses: the more is own code, the better
        full = replace(full, least_attention=0)
    own = replace(
        full, in_tiles=IN_TILES, few_queries=True, twins=True, folded_columns=MOST_COLUMNS
    )
    if device_kind == "cuda":  # on CUDA the library adds a convolution's bias in a separate pass
        tensor_cores = (*RULES, *ROUNDED, *STEPS)
        library = (*tensor_cores, *BIASES)
        around = replace(full, depthwise=True)
        return (
            Variant("fused, own matmul", own, products=True, rules=(*CAPPED, *tensor_cores)),
            Variant("fused", around, rules=library),
            Variant("fused, plain convolutions", around, rules=(*library, *ORDINARY)),
            Variant("fused, channels last", full, rules=(*library, *IMAGES_TOO)),
            Variant("fused, channels last, own depthwise", around, rules=(*library, *IMAGES_TOO)),
            Variant(
                "fused, channels last, narrow convolutions",
                replace(full, narrow=True, moments=True),
                rules=(*library, *IMAGES_TOO),
            ),
            Variant(
                "fused, channels last, own products",
                replace(full, convolutions=False),
                products=True,
                rules=(*tensor_cores, *BIASES, *ONE_TAP, *IMAGES_TOO),
            ),
            Variant("fused with recomputation", replace(full, join_rows=1, recompute_cost=40)),
            Variant(
                "one kernel per reduction", Fusion(join_rows=1 << 62, siblings=False), rules=library
            ),
            Variant("fused, formula unchanged", full, rules=()),
        )
    return (
        # First, because it gains most if it applies; otherwise it is the same as "fused".
        Variant("fused, own matmul", full, products=True),
        Variant("fused", full),
        Variant("fused, channels last", full, rules=(*RULES, *LAYOUTS)),
        Variant("fused with recomputation", Fusion(join_rows=1, recompute_cost=40)),
        Variant("one kernel per reduction", Fusion(join_rows=1 << 62, siblings=False)),
        Variant("fused, formula unchanged", full, rules=()),
    )


def variants_for_training(device_kind: str) -> tuple[Variant, ...]:
    """Return the same for training steps: no layouts of images, and two ways to cut in two."""
    first, *others = (way for way in variants(device_kind) if not is_for_convolutions(way))
    saving = replace(first, name=f"{first.name}, nothing computed twice", partition="save")
    return (first, saving, *others)


def is_for_convolutions(variant: Variant) -> bool:
    """Whether a variant is another one than the rest only where there are convolutions."""
    own = {rule.name for rule in (*LAYOUTS, *IMAGES_TOO, *ORDINARY, *ONE_TAP)}
    return any(rule.name in own for rule in variant.rules)
