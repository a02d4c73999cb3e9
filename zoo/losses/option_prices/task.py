"""Prices of options by Black and Scholes: logarithms and roots of what is never below zero."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, prices, strikes, years, rates, spreads):
        spread = spreads * years.sqrt()
        d = ((prices / strikes).log() + (rates + 0.5 * spreads * spreads) * years) / spread
        calls = prices * self.normal(d)
        return calls - strikes * (-rates * years).exp() * self.normal(d - spread)

    def normal(self, z):
        return 0.5 * (1 + torch.erf(z * 0.5**0.5))


def get_inputs():
    bounds = ((50, 150), (50, 150), (0.1, 2), (0.0, 0.1), (0.1, 0.5))
    return [low + (high - low) * torch.rand(2000) for low, high in bounds]


def get_init_inputs():
    return []
