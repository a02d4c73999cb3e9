"""Device code of several units: compiled separately, linked, run, or of the same name in each."""

import pytest
from tests.host.port.conftest import needs_amd
from tests.host.port.units import OF_EACH, SEPARATE

from kernelwright.port import RungStatus, port


def rungs(folder, files, *numbers):
    for name, text in files.items():
        (folder / name).write_text(text)
    report = port(folder, rungs=numbers, targets=("gfx942",))
    return {rung.name: rung for rung in report.files[0].rungs}


@pytest.mark.parametrize(("files", "n_values"), [(SEPARATE, 3), (OF_EACH, 2)])
def test_units_with_device_code_are_linked_and_run(files, n_values, tmp_path):
    rung = rungs(tmp_path, files, 2)["emulate"]
    assert rung.status is RungStatus.PASSED, rung.details
    assert rung.values == (("the output", n_values),)
    assert set(rung.units) == {"a.hip", "b.hip"}


@needs_amd
def test_a_unit_that_calls_device_code_of_another_is_compiled_with_it(tmp_path):
    rung = rungs(tmp_path, SEPARATE, 1)["compile"]
    assert rung.status is RungStatus.PASSED, rung.details
    assert {kernel.kernel for _, kernel in rung.resources} == {"_Z1kPf"}


@needs_amd
def test_device_code_that_no_unit_has_is_a_fault(tmp_path):
    rung = rungs(tmp_path, {"a.cu": SEPARATE["a.cu"], "shared.h": SEPARATE["shared.h"]}, 1)
    assert rung["compile"].status is RungStatus.FAILED
