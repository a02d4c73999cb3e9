"""The rules. Each row is an equality of real numbers under its condition; rounding may differ.

``holds`` states the condition in words, ``source`` the origin of the equality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.compiler.rewrite import conditions as on
from kernelwright.compiler.rewrite import convolutions as onc
from kernelwright.compiler.rewrite.conditions import Condition
from kernelwright.compiler.rewrite.rounded import cast_back, rounded_attention


@dataclass(frozen=True)
class Rule:
    """An equality, read from left to right."""

    name: str
    pattern: str
    replacement: str
    when: Condition
    holds: str
    source: str


_SCORES = ("matmul(q, mT(k))", "mul(matmul(q, mT(k)), s)", "div(matmul(q, mT(k)), d)")
"""Scores are not scaled, or multiplied or divided by a number."""
_MASKED = (
    ("{}", "None"),
    ("add({}, mask)", "mask"),
    ("masked_fill({}, mask, infinite)", "logical_not(mask)"),
)
"""The mask is absent, added, or filled in."""
_WEIGHTS = ("softmax({}, -1)", "cast(wide_softmax({}, -1), dtype)")
"""The softmax is that of torch, or one of 16 bits in float32."""


def _attention() -> list[Rule]:
    causal = [
        Rule(
            name="softmax(mask(Q·Kᵀ·s))·V with a causal mask is causal attention",
            pattern=f"matmul({weights.format(f'masked_fill({score}, mask, infinite)')}, v)",
            replacement="scaled_dot_product_attention(q, k, v, None, 0.0, True, scale=scale)",
            when=on.causal_attention,
            holds="four dimensions with equal batch, heads and length; the mask follows from "
            "buffers and is true exactly above the diagonal, which the candidate checks",
            source="definition of is_causal, torch.nn.functional.scaled_dot_product_attention",
        )
        for score in _SCORES
        for weights in _WEIGHTS
    ]
    heads_joined = Rule(
        name="softmax(Q·Kᵀ)·V over three dimensions is scaled dot product attention",
        pattern="matmul(softmax(matmul(q, mT(k)), -1), v)",
        replacement="squeeze(scaled_dot_product_attention(unsqueeze(q, 0), unsqueeze(k, 0), "
        "unsqueeze(v, 0), None, 0.0, False, scale=scale), 0)",
        when=on.attention_of_three,
        holds="three dimensions with equal first ones",
        source="definition, Vaswani et al. 2017, eq. 1",
    )
    return [*causal, heads_joined] + [
        Rule(
            name="softmax(Q·Kᵀ·s)·V is scaled dot product attention",
            pattern=f"matmul({weights.format(form.format(score))}, v)",
            replacement=f"scaled_dot_product_attention(q, k, v, {mask}, 0.0, False, scale=scale)",
            when=on.attention,
            holds="four dimensions with equal batch and heads; no row is masked altogether "
            "(the softmax of such a row is not a number)",
            source="definition, Vaswani et al. 2017, eq. 1",
        )
        for score in _SCORES
        for form, mask in _MASKED
        for weights in _WEIGHTS
    ]


def _capped() -> Iterator[Rule]:
    for score in _SCORES:
        for inside in (f"div({score}, c)", f"mul({score}, r)"):
            for form, mask in _MASKED:
                for weights in _WEIGHTS:
                    scores = form.format(f"mul(tanh({inside}), cap)")
                    yield Rule(
                        name="softmax(cap·tanh(Q·Kᵀ·s/cap))·V is capped attention",
                        pattern=f"matmul({weights.format(scores)}, v)",
                        replacement=f"capped_attention(q, k, v, {mask}, scale, cap)",
                        when=on.capped_attention,
                        holds="four dimensions with equal batch and heads, in 16 bits; no row is "
                        "masked altogether",
                        source="definition, Gemma 2 (2024), section 2",
                    )


def _means_of_convolutions() -> list[Rule]:
    """Averages are linear: they move from a convolution's many results to its few weights."""
    rules = []
    for n in (2, 3):
        conv = f"conv{n}d(x, w, b, stride, padding, dilation, groups)"
        transposed = f"conv_transpose{n}d(x, w, b, stride, padding, extra, groups, dilation)"
        rules += [
            Rule(
                "a factor leaves a mean",
                "mean(mul(x, c), dims, keep)",
                "mul(mean(x, dims, keep), c)",
                onc.factor_of_convolution,
                "c is one number, x a convolution",
                "distributivity",
            ),
            Rule(
                "a factor leaves an average pool",
                f"avg_pool{n}d(mul(x, c), size, far)",
                f"mul(avg_pool{n}d(x, size, far), c)",
                onc.factor_of_convolution,
                "c is one number, x a convolution",
                "distributivity",
            ),
            Rule(
                "the mean over all positions of a transposed convolution is a product of sums",
                f"mean({transposed}, dims, keep)",
                "view(with_bias(div(matmul(tap_sums(x, ranges), weight_rows(w)), positions), b), "
                "shape)",
                onc.all_positions,
                "one group",
                "Σₒ y = Σₖ wₖ Σᵢ xᵢ, where i runs over what tap k meets of x",
            ),
            Rule(
                "an average over the strides of a transposed convolution is a convolution",
                f"avg_pool{n}d({transposed}, size, far)",
                f"conv{n}d(x, div(summed_taps(w, stride, front), area), b, one, own, one, 1)",
                onc.pool_of_strides,
                "the windows are the strides; one group, taps side by side",
                "the phases of a window read the same x: their weights add up",
            ),
            Rule(
                "an average over a convolution of one tap is that convolution of the average",
                f"avg_pool{n}d({conv}, size, far)",
                f"conv{n}d(avg_pool{n}d(x, size, far), w, b, stride, padding, dilation, groups)",
                onc.pool_of_one_tap,
                "one tap, stride 1, no padding; windows further than 1 apart",
                "the average runs over positions, the convolution over channels",
            ),
            Rule(
                "an average over a convolution is a convolution of wider stride",
                f"avg_pool{n}d({conv}, size, far)",
                f"conv{n}d(x, boxed(w, size), b, size, padding, dilation, 1)",
                onc.pool_of_plain,
                "stride 1, no padding, one group, windows side by side",
                "convolution is associative: the window is a kernel of equal weights",
            ),
        ]
    return rules


def _mean_of_one_dimension() -> Rule:
    return Rule(
        "the mean over one dimension of a transposed convolution is one of fewer dimensions",
        "mean(conv_transpose3d(x, w, b, stride, padding, extra, groups, dilation), dims, keep)",
        "view(with_bias(div(conv_transpose2d(joined_channels(range_sums(x, 2, ranges)), "
        "taps_as_channels(w), None, stride2, padding2, extra2, 1, dilation2), positions), b), "
        "shape)",
        onc.first_dimension,
        "the first dimension in space alone, one group",
        "each tap meets a range of positions: their sums become its channels",
    )


_SUM = "the sum is linear: Σⱼ (Σᵢ xᵢ wⱼᵢ + bⱼ) = Σᵢ xᵢ (Σⱼ wⱼᵢ) + Σⱼ bⱼ"

RULES: tuple[Rule, ...] = (
    Rule(
        "a copy is the value that it copies", "clone(x)", "x", on.computed,
        "x is no argument or attribute, and the caller does not get both or a view of x",
        "values of the captured graph never change",
    ),
    *_attention(),
    Rule(
        "a number leaves a sum", "sum(mul(x, c), dims, keep)", "mul(sum(x, dims, keep), c)",
        on.number_of_linear, "c is a finite number", "distributivity",
    ),
    Rule(
        "a number leaves a sum", "sum(div(x, c), dims, keep)", "div(sum(x, dims, keep), c)",
        on.number_of_linear, "c is a finite number, not 0", "distributivity",
    ),
    *(
        Rule(
            f"the {mean} of a shifted linear map is shifted by the {mean} of the shift",
            f"{mean}({shift}(x, p), dims, keep)",
            f"{shift}({mean}(x, dims, keep), {mean}(p, dims, keep))",
            on.shifted_last_dim,
            "p is a vector along the dimension that is reduced, x a linear map", "linearity",
        )
        for mean in ("mean", "sum")
        for shift in ("add", "sub")
    ),
    Rule(
        "the sum over a linear map's outputs is one output",
        "sum(linear(x, w, b), dims, keep)",
        "view(linear(x, sum(w, [0], True), sum(b, [0], True)), shape)",
        on.last_dim, "the sum runs over the outputs alone", _SUM,
    ),
    Rule(
        "the mean over a linear map's outputs is one output",
        "mean(linear(x, w, b), dims, keep)",
        "view(linear(x, mean(w, [0], True), mean(b, [0], True)), shape)",
        on.last_dim, "the mean runs over the outputs alone", _SUM,
    ),
    Rule(
        "the sum over a product's columns is a product with summed columns",
        "sum(matmul(a, b), dims, keep)", "view(matmul(a, sum(b, [-1], True)), shape)",
        on.last_dim_of_product, "the sum runs over the columns alone", _SUM,
    ),
    Rule(
        "the sum over a product's rows is a product with summed rows",
        "sum(matmul(a, b), dims, keep)", "view(matmul(sum(a, [-2], True), b), shape)",
        on.rows_of_product, "the sum runs over the rows alone", _SUM,
    ),
    Rule(
        "the mean of pooled outputs of a linear map is a linear map of pooled weights",
        "squeeze(avg_pool1d(unsqueeze(linear(x, w, b), d1), size, far), d1)",
        "linear(x, mean(view(w, grouped), [1]), mean(view(b, groups), [1]))",
        on.pooled_features, "windows side by side that cover the outputs", _SUM,
    ),
    *_means_of_convolutions(),
    _mean_of_one_dimension(),
    Rule(
        "a product with a diagonal matrix scales rows", "matmul(diag_embed(a), b)",
        "mul(unsqueeze(a, -1), b)", on.always, "always", "(diag(a) B)ᵢⱼ = aᵢ Bᵢⱼ",
    ),
    Rule(
        "a product with a diagonal matrix scales columns", "matmul(a, diag_embed(b))",
        "mul(a, unsqueeze(b, -2))", on.always, "always", "(A diag(b))ᵢⱼ = Aᵢⱼ bⱼ",
    ),
    Rule(
        "two transpositions are none", "mT(mT(x))", "x", on.always, "always", "definition",
    ),
    Rule(
        "two factors are one", "mul(mul(x, c), e)", "mul(x, ce)", on.product_of_numbers,
        "both are numbers, their product far from overflow and underflow", "associativity",
    ),
    Rule(
        "relu of what is never negative is the identity", "relu(x)", "x", on.never_negative,
        "x comes from relu, sigmoid, softmax, exp, abs, square or a clamp from 0 up, and the "
        "caller does not get both",
        "max(x, 0) = x for x ≥ 0",
    ),
    Rule(
        "the softmax of a clamped value needs no maximum", "softmax(x, dim)",
        "div(exp(sub(x, top)), sum(exp(sub(x, top)), dims, True))", on.limited,
        "x is float32, clamped to a range of at most 60", "softmax(x) = softmax(x - c)",
    ),
    Rule(
        "a clamp of a clamp is one clamp", "clamp(clamp(x, low, high), low2, high2)",
        "clamp(x, lowest, highest)", on.nested_limits, "the ranges overlap", "lattice laws",
    ),
    Rule(
        "what is at most c and raised to at least c is constant",
        "clamp(minimum(x, c), low, high)", "full_like(x, low)", on.empty_range,
        "c ≤ low ≤ high; x has no NaN", "max(min(x, c), low) = low for c ≤ low",
    ),
    Rule(
        "a value less itself is zero", "sub(x, mean(x, dims, keep))", "full_like(x, 0.0)",
        on.single_element, "the mean runs over one element; x is finite", "x - x = 0",
    ),
    Rule(
        "two linear maps in a row are one", "linear(linear(x, w, b), w2, b2)",
        "linear(x, matmul(w2, w), linear(b, w2, b2))", on.cheaper_as_one,
        "the product of the weights is smaller than both", "associativity of the matrix product",
    ),
)  # fmt: skip


_PLAIN = "stride, padding, dilation, groups"
_TRANSPOSED = "stride, padding, extra, groups, dilation"


def _bias_apart(operator: str, rest: str) -> Rule:
    return Rule(
        "the bias of a convolution is added with what follows",
        f"{operator}(x, w, b, {rest})",
        f"add({operator}(x, w, None, {rest}), view(b, place))",
        onc.has_bias,
        "always",
        "definition",
    )


def _ordinary(n: int) -> Rule:
    return Rule(
        "a transposed convolution of stride 1 is an ordinary one with the weight turned round",
        f"conv_transpose{n}d(x, w, b, {_TRANSPOSED})",
        f"conv{n}d(x, flipped(w), b, stride, pads, dilation, 1)",
        onc.stride_of_one,
        "stride 1, one group, no more padding than the kernel has taps",
        "definition: y = Σₖ x[o + p - dk] wₖ, summed the other way round",
    )


def _steps_as_channels(n: int) -> Rule:
    return Rule(
        "a convolution of wide steps over few channels has its steps as channels",
        f"conv{n}d(x, w, b, {_PLAIN})",
        f"conv{n}d(steps_as_channels(x, stride, padding, sizes), "
        "steps_as_channels(w, stride, zeros, whole), b, one, zeros, one, 1)",
        onc.wide_steps,
        "one group, taps side by side",
        "x[s·o + k] with k = s·t + r is channel r of block o + t",
    )


ROUNDED: tuple[Rule, ...] = (
    Rule(
        name="attention between values of a narrow type is attention in that type",
        pattern="scaled_dot_product_attention(q, k, v, mask, p, causal, scale, shared)",
        replacement="_to_copy(scaled_dot_product_attention(narrowed(q, narrow), "
        "narrowed(k, narrow), narrowed(v, narrow), mask, p, causal, scale=scale, "
        "enable_gqa=shared), dtype=wide)",
        when=rounded_attention,
        holds="queries, keys and values are casts of it, and the result is rounded to it; no "
        "mask that is added, no dropout",
        source="products of such values are exact in float32; weights of keys are rounded",
    ),
    Rule(
        name="a value cast to float32 and back is itself",
        pattern="cast(x, narrow)",
        replacement="narrowed(x, narrow)",
        when=cast_back,
        holds="nothing but views lies in between",
        source="float32 holds all values of narrower types",
    ),
)
"""Rules that round to narrow types in between, for variants on tensor cores: the judge says whether
errors grow too much."""
CAPPED: tuple[Rule, ...] = tuple(_capped())
"""Rules for dialects with a kernel for attention whose scores are capped."""
STEPS: tuple[Rule, ...] = tuple(map(_steps_as_channels, (1, 2, 3)))
"""Rules that turn strided convolutions of few channels into ones that suit tensor cores."""
BIASES: tuple[Rule, ...] = (
    *(_bias_apart(f"conv{n}d", _PLAIN) for n in (1, 2, 3)),
    *(_bias_apart(f"conv_transpose{n}d", _TRANSPOSED) for n in (1, 2, 3)),
)
"""Rules for libraries that add a bias in a separate pass over the result, as PyTorch does on a
GPU."""
ORDINARY: tuple[Rule, ...] = (_ordinary(1), _ordinary(3))
"""Rules for a separate variant, because the library may be faster either way. Measured on an H200:
0.6 to 7 times as fast in three dimensions, 0.8 to 1.1 times in two."""


def _channels_last(operator: str, rest: str, image: str) -> Rule:
    return Rule(
        name="convolutions run with channels last",
        pattern=f"{operator}(x, w, b, {rest})",
        replacement=f"{operator}({image}, clone(w, memory_format=layout), b, {rest})",
        when=on.plain_weight,
        holds="always: a layout in memory is no value",
        source="PyTorch's channels last tutorial: a convolution takes the layout of its weights",
    )


def _layouts(image: str) -> tuple[Rule, ...]:
    return (
        *(_channels_last(f"conv{n}d", _PLAIN, image) for n in (2, 3)),
        *(_channels_last(f"conv_transpose{n}d", _TRANSPOSED, image) for n in (2, 3)),
    )


LAYOUTS: tuple[Rule, ...] = _layouts("x")
"""Rules that change how values are laid out in memory, for a separate variant: they may win or
lose."""
_ONE_TAP = "contiguous(x, memory_format=layout), w, b, stride"
ONE_TAP: tuple[Rule, ...] = tuple(
    Rule(
        "a convolution of one tap is a product with every position of the image",
        f"conv{n}d(x, w, b, {_PLAIN})",
        f"product_of_positions({_ONE_TAP})",
        onc.one_tap,
        "one tap, one group, no padding; numbers of 16 bits",
        "definition: y[o] = Σ_c x[c, s·o] w[c]",
    )
    for n in (2, 3)
)
"""Rules that make products of convolutions in 16 bits, for a variant with channels last: what
follows a product is computed before it is stored, and the library's convolutions have nothing but
a bias behind them. In float32 a product would be more exact than the convolution, and slower."""
IMAGES_TOO: tuple[Rule, ...] = _layouts("contiguous(x, memory_format=layout)")
"""Like LAYOUTS, with the image also converted before the library would do it: a kernel of our own
takes half as long as PyTorch's copy (H200), and the kernel that computes the image can write it in
that layout."""
