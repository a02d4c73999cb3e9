"""Fast seeding gives the same numbers as torch.manual_seed."""

import torch

from kernelwright.loaders.seeding import seed_torch


def test_the_numbers_are_those_of_torch():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        expected = torch.rand(5)
        seed_torch(7)
        assert torch.equal(torch.rand(5), expected)
