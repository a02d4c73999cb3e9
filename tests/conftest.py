"""Tests draw the same numbers for the same code, and property tests are not timed."""

import pytest
import torch
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
