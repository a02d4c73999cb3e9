"""max-autotune is a library setting of its own, for those who ask for it; torch.compile is one
unless a search does without."""

import pytest

from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge.baselines.library_settings import EAGER, SETTINGS, settings_of
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.devices.environment import Here, describe
from kernelwright.search.library_candidate import library_candidate
from kernelwright.suites.suite import suite_entries


@pytest.mark.parametrize("kind", SETTINGS)
def test_it_is_measured_only_where_it_is_asked_for(kind):
    usual = {row.name for row in settings_of(kind, "")}
    more = [row for row in settings_of(kind, "", max_autotune=True) if row.name not in usual]
    assert not any("autotune" in name for name in usual)
    assert all(row.is_tuned for row in more)
    assert {row.compile["mode"] for row in more} == (
        {"max-autotune-no-cudagraphs"}
        if kind == "cpu"
        else {"max-autotune-no-cudagraphs", "max-autotune"}
    )


@pytest.mark.parametrize("kind", SETTINGS)
def test_nothing_is_compiled_where_that_is_not_wanted(kind):
    rows = settings_of(kind, "", max_autotune=True, compiled=False)
    assert rows[0].name == EAGER and not any(row.compile is not None for row in rows)


@pytest.mark.parametrize("changed", [{"max_autotune": True}, {"compiled": False}])
def test_verdicts_beside_other_library_settings_are_of_another_environment(changed):
    device = Device.parse("cpu")
    plain, other = Settings(), Settings(**changed)
    found = describe(device, backend_of(device), Here.of(device, other).facts["threads"], other)
    assert Here.of(device, other).is_of(found)
    assert not Here.of(device, plain).is_of(found)
    assert changed.keys().isdisjoint(Here.of(device, plain).facts)


def test_the_setting_is_handed_back_by_its_name():
    (entry, *_) = suite_entries("builtin", device="cpu")
    source = library_candidate(entry.task, "max_autotune").source
    assert "mode='max-autotune-no-cudagraphs'" in source and '"max_autotune"' in source
