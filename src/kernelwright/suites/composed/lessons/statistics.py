"""Statistics over an axis: how tasks write them, and how sweeps compute them."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.suites.composed.lessons.sweeps import Fold, Found


@dataclass(frozen=True)
class Statistic:
    """A statistic. In its forms ``{x}`` is the argument, ``{d}`` the axis, and ``{k}`` the place of
    keepdim=True."""

    word: str
    forms: tuple[str, ...]
    found: tuple[Found, ...]
    last: str
    """The line that sets ``v`` to the result: for each element, or the one result."""


TOTAL: Fold = ("total", "sum", "v")
SQUARES: Fold = ("total", "sum", "v * v")
TOP: tuple[Found, ...] = (("top", "max", "v"), ("total", "sum", "tl.exp(v - top)"))
CENTRED: tuple[Found, ...] = (
    ("mean", "sum", "v"), "mean = mean / length",
    (("rest", "sum", "v - mean"), ("var", "sum", "(v - mean) * (v - mean)")),
    "mean += rest / length", "var = tl.maximum(var - rest * rest / length, 0.0)",
)  # fmt: skip
"""The corrected two-pass algorithm: the mean of a million equal numbers is that number, and their
variance is not negative. Source: Chan, Golub, LeVeque, Algorithms for computing the sample
variance, 1983."""

REDUCTIONS = (
    Statistic("sum", ("torch.sum({x}, dim={d}{k})", "{x}.sum(dim={d}{k})"), (TOTAL,), "v = total"),
    Statistic("mean", ("torch.mean({x}, dim={d}{k})", "{x}.mean(dim={d}{k})"), (TOTAL,),
              "v = total / length"),
    Statistic("maximum", ("torch.max({x}, dim={d}{k})[0]", "torch.amax({x}, dim={d}{k})",
                          "{x}.max(dim={d}{k}).values", "torch.max({x}, dim={d}{k}).values"),
              (("top", "max", "v"),), "v = top"),
    Statistic("minimum", ("torch.min({x}, dim={d}{k})[0]", "torch.amin({x}, dim={d}{k})",
                          "{x}.min(dim={d}{k}).values", "{x}.amin(dim={d}{k})"),
              (("low", "min", "v"),), "v = low"),
    Statistic("length", ("torch.norm({x}, dim={d}{k})", "torch.norm({x}, p=2, dim={d}{k})",
                         "{x}.norm(dim={d}{k})", "torch.sqrt(torch.sum({x} ** 2, dim={d}{k}))"),
              (SQUARES,), "v = tl.sqrt(total)"),
    Statistic("sum of absolute values", ("torch.sum(torch.abs({x}), dim={d}{k})",
                                         "torch.norm({x}, p=1, dim={d}{k})"),
              (("total", "sum", "tl.abs(v)"),), "v = total"),
    Statistic("mean square", ("torch.mean({x} ** 2, dim={d}{k})", "{x}.pow(2).mean(dim={d}{k})"),
              (SQUARES,), "v = total / length"),
    Statistic("log-sum-exp", ("torch.logsumexp({x}, dim={d}{k})", "{x}.logsumexp(dim={d}{k})"),
              TOP, "v = top + tl.log(total)"),
    Statistic("variance", ("torch.var({x}, dim={d}, unbiased=False{k})",
                           "{x}.var(dim={d}, unbiased=False{k})"), CENTRED, "v = var / length"),
    Statistic("deviation", ("torch.std({x}, dim={d}{k})", "{x}.std(dim={d}{k})"), CENTRED,
              "v = tl.sqrt(var / (length - 1))"),
    Statistic("range", ("torch.amax({x}, dim={d}{k}) - torch.amin({x}, dim={d}{k})",),
              (("top", "max", "v"), ("low", "min", "v")), "v = top - low"),
)  # fmt: skip
PRODUCT = Statistic(
    "product",
    ("torch.prod({x}, dim={d}{k})", "{x}.prod(dim={d}{k})"),
    (("total", "product", "v"),),
    "v = total",
)
"""For columns only: Triton cannot multiply the lanes of a row."""

KEEP = ", keepdim=True"
MAPS = (
    Statistic("softmax", ("torch.softmax({x}, dim={d})", "F.softmax({x}, dim={d})",
                          "{x}.softmax(dim={d})", "torch.nn.functional.softmax({x}, dim={d})",
                          "nn.Softmax(dim={d})"), TOP, "v = tl.exp(v - top) / total"),
    Statistic("log-softmax", ("torch.log_softmax({x}, dim={d})", "F.log_softmax({x}, dim={d})",
                              "torch.nn.functional.log_softmax({x}, dim={d})",
                              "torch.log(torch.softmax({x}, dim={d}))", "nn.LogSoftmax(dim={d})"),
              TOP, "v = v - top - tl.log(total)"),
    Statistic("softmin", ("F.softmin({x}, dim={d})", "torch.softmax(-{x}, dim={d})",
                          "nn.Softmin(dim={d})"),
              (("low", "min", "v"), ("total", "sum", "tl.exp(low - v)")),
              "v = tl.exp(low - v) / total"),
    Statistic("L1 norm 1", ("{x} / torch.sum(torch.abs({x}), dim={d}, keepdim=True)",
                            "{x} / torch.norm({x}, p=1, dim={d}, keepdim=True)"),
              (("total", "sum", "tl.abs(v)"),), "v = v / total"),
    Statistic("L2 norm 1", ("{x} / torch.norm({x}, p=2, dim={d}, keepdim=True)",
                            "{x} / {x}.norm(dim={d}, keepdim=True)",
                            "{x} / torch.sqrt(torch.sum({x} ** 2, dim={d}, keepdim=True))"),
              (SQUARES,), "v = v / tl.sqrt(total)"),
    Statistic("mean absolute value 1", ("{x} / torch.mean(torch.abs({x}), dim={d}, keepdim=True)",
                                        "{x} / {x}.abs().mean(dim={d}, keepdim=True)"),
              (("total", "sum", "tl.abs(v)"),), "v = v / (total / length)"),
    Statistic("RMS norm", ("{x} * torch.rsqrt({x}.pow(2).mean(dim={d}, keepdim=True) + 1e-5)",
                           "{x} / torch.sqrt(torch.mean({x} ** 2, dim={d}, keepdim=True) + 1e-5)",
                           "{x} / ({x}.square().mean({d}, keepdim=True) + 1e-5).sqrt()"),
              (SQUARES,), "v = v / tl.sqrt(total / length + 1e-5)"),
    Statistic("standardised", ("({x} - {x}.mean(dim={d}, keepdim=True)) / torch.sqrt("
                               "{x}.var(dim={d}, keepdim=True, unbiased=False) + 1e-5)",),
              CENTRED, "v = (v - mean) / tl.sqrt(var / length + 1e-5)"),
    Statistic("centred", ("{x} - {x}.mean(dim={d}, keepdim=True)",
                          "{x} - torch.mean({x}, dim={d}, keepdim=True)"),
              (TOTAL,), "v = v - total / length"),
    Statistic("less the maximum", ("{x} - torch.max({x}, dim={d}, keepdim=True)[0]",
                                   "{x} - {x}.amax(dim={d}, keepdim=True)"),
              (("top", "max", "v"),), "v = v - top"),
    Statistic("between 0 and 1", ("({x} - {x}.amin(dim={d}, keepdim=True)) / ("
                                  "{x}.amax(dim={d}, keepdim=True) - "
                                  "{x}.amin(dim={d}, keepdim=True) + 1e-5)",),
              (("top", "max", "v"), ("low", "min", "v")), "v = (v - low) / (top - low + 1e-5)"),
    Statistic("product with the mean", ("{x} * torch.mean({x}, dim={d}, keepdim=True)",
                                        "{x} * {x}.mean(dim={d}, keepdim=True)"),
              (TOTAL,), "v = v * total / length"),
)  # fmt: skip
