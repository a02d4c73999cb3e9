"""Inputs that are moved in their last digits, to see which whole numbers hang on them."""

import torch

from kernelwright.judge.nudges import loose_places


def test_two_inputs_part_ways():
    """Moved alike they would leave their quotient, and a quantiser's borders, where they were."""
    generator = torch.Generator().manual_seed(0)
    scale = torch.rand(64, 64, generator=generator) + 0.5
    x = (torch.randint(0, 100, scale.shape, generator=generator) + 0.5) * scale

    def run(arguments):
        return [(arguments[0] / arguments[1]).round().to(torch.int8)]

    own, other = run([x, scale])[0], (x * (1 / scale)).round().to(torch.int8)
    (loose,) = loose_places(run, [x, scale], [own], zeros_too=False)
    assert (own != other).any()
    assert not ((own != other) & ~loose).any()
