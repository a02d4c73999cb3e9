"""Losses: a prediction and a target, one number or one per row."""

from __future__ import annotations

from kernelwright.suites.composed import shapes
from kernelwright.suites.composed.chain import chain
from kernelwright.suites.composed.task_builder import TaskBuilder

SPREAD = "torch.randn({shape}) * (torch.rand(()) + 0.5)"
"""Expression that draws a target. The mean of millions of values hardly varies between draws, so
that a constant would approximate it; a random scale makes it vary.

Source: KernelBench v0.2 draws its losses' inputs this way.
"""

_OF_VALUES = (
    ("F.mse_loss(x, {y})", "mean squared error"),
    ("torch.mean((x - {y}) ** 2)", "mean squared error"),
    ("F.l1_loss(x, {y})", "mean absolute error"),
    ("F.smooth_l1_loss(x, {y})", "smooth L1 loss"),
    ("F.huber_loss(x, {y}, delta=0.7)", "Huber loss"),
    ("torch.log(torch.cosh(x - {y})).mean()", "logarithm of the hyperbolic cosine"),
    ("((x - {y}).abs() / (1.0 + {y}.abs())).mean(dim=-1)", "relative error of each row"),
    (
        "torch.sqrt(((x - {y}) ** 2).mean(dim=-1) + 1e-8)",
        "root of the mean squared error of each row",
    ),
    ("1.0 - F.cosine_similarity(x, {y}, dim=-1)", "cosine distance of each row"),
    ("F.poisson_nll_loss(x, {y}.abs())", "Poisson likelihood"),
    ("torch.clamp(1.0 - x * {y}, min=0).mean()", "hinge loss"),
    ("F.soft_margin_loss(x, torch.sign({y}))", "soft margin loss"),
    ("(torch.maximum(0.9 * ({y} - x), -0.1 * ({y} - x))).mean()", "quantile loss"),
)
_OF_CLASSES = (
    ("F.cross_entropy(x, {t})", "cross entropy"),
    ("F.cross_entropy(x, {t}, label_smoothing=0.1)", "cross entropy with smoothed labels"),
    ('F.cross_entropy(x, {t}, reduction="none")', "cross entropy of each row"),
    ("F.nll_loss(F.log_softmax(x, dim=-1), {t})", "negative log-likelihood"),
    ('F.cross_entropy(x / 2.0, {t}, reduction="sum")', "summed cross entropy at a temperature"),
)
_OF_CHANCES = (
    ("F.binary_cross_entropy_with_logits(x, {y})", "binary cross entropy of logits"),
    ("F.binary_cross_entropy(torch.sigmoid(x), {y})", "binary cross entropy"),
    ("(F.softplus(x) - x * {y}).mean(dim=-1)", "binary cross entropy of each row"),
)


def loss(builder: TaskBuilder) -> None:
    """Write a loss of a prediction, after some pointwise steps on it."""
    draw = builder.draw
    kind = draw.choice(("values", "values", "classes", "chances", "distributions", "triplet"))
    builder.begin(shapes.rows(builder))
    builder.is_positive = False
    if kind == "values":
        chain(builder, draw.randint(0, 3), others=0)
        expression, word = draw.choice(_OF_VALUES)
        builder.step(expression.format(y=builder.input("target", builder.shape, SPREAD)), word)
    elif kind == "classes":
        chain(builder, draw.randint(0, 2), others=0)
        batch, classes = builder.shape
        how = f"torch.randint(0, {classes.text}, ({{shape}},))"
        expression, word = draw.choice(_OF_CLASSES)
        builder.step(expression.format(t=builder.input("target", (batch,), how)), word)
    elif kind == "chances":
        chain(builder, draw.randint(0, 2), others=0)
        target = builder.input("target", builder.shape, "torch.rand({shape})")
        expression, word = draw.choice(_OF_CHANCES)
        builder.step(expression.format(y=target), word)
    elif kind == "distributions":
        _divergence(builder)
    else:
        _triplet(builder)


def _divergence(builder: TaskBuilder) -> None:
    other = builder.input("target", builder.shape, SPREAD)
    temperature = builder.draw.choice(("1.0", "2.0", "4.0"))
    builder.forward.append(f"log_p = F.log_softmax(x / {temperature}, dim=-1)")
    builder.forward.append(f"q = F.softmax({other} / {temperature}, dim=-1)")
    builder.step(
        *builder.draw.choice(
            (
                ('F.kl_div(log_p, q, reduction="batchmean")', "KL divergence of two softmaxes"),
                ("(q * (torch.log(q + 1e-9) - log_p)).sum(dim=-1)", "KL divergence of each row"),
                ("-(q * log_p).sum(dim=-1).mean()", "cross entropy of two softmaxes"),
            )
        )
    )


def _triplet(builder: TaskBuilder) -> None:
    near, far = (builder.input(name, builder.shape, SPREAD) for name in ("positive", "negative"))
    margin = builder.draw.choice(("1.0", "0.5", "2.0"))
    if builder.draw.random() < 0.5:
        builder.step(f"F.triplet_margin_loss(x, {near}, {far}, margin={margin})", "triplet loss")
        return
    builder.forward.append(f"d_pos = (x - {near}).pow(2).mean(dim=-1)")
    builder.forward.append(f"d_neg = (x - {far}).pow(2).mean(dim=-1)")
    builder.step(f"F.softplus(d_pos - d_neg + {margin}).mean()", "soft triplet loss")
