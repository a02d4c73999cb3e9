"""The wheel holds the package and nothing that is only for this project's own tests."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import kernelwright

HOME = Path(kernelwright.__file__).parents[2]
MAX_ENTRIES = 1250
DIST_INFO = 6
"""METADATA, WHEEL, RECORD, entry_points.txt, top_level.txt and the licence."""


@pytest.fixture(scope="module")
def entries() -> set[str]:
    """The files of the package that setuptools puts into a wheel, relative to ``src``."""
    setuptools = pytest.importorskip("setuptools")
    settings = tomllib.loads((HOME / "pyproject.toml").read_text())["tool"]["setuptools"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(HOME)
        distribution = setuptools.Distribution(
            {
                "packages": setuptools.find_packages("src"),
                "script_name": "pyproject.toml",
                "package_dir": {"": "src"},
                "package_data": settings["package-data"],
            }
        )
        build = distribution.get_command_obj("build_py")
        build.build_lib = "wheel"
        build.ensure_finalized()
        files = build.get_outputs(include_bytecode=False)
    return {Path(file).relative_to("wheel").as_posix() for file in files}


def test_the_wheel_is_small(entries: set[str]) -> None:
    assert len(entries) + DIST_INFO < MAX_ENTRIES
    assert "kernelwright/suites/builtin/softmax/task.py" in entries
    assert "kernelwright/suites/models/norm/adaptive.py" in entries


def test_the_wheel_holds_no_candidate(entries: set[str]) -> None:
    candidates = {path.name for path in HOME.glob("zoo/*/*/*/*.py")}
    assert len(candidates) > 700
    assert not candidates & {Path(entry).name for entry in entries}
    assert not {"right.py", "wrong.py"} & {Path(entry).name for entry in entries}


def test_what_is_for_tests_of_others_is_a_runner_and_suites(entries: set[str]) -> None:
    """Data of a zoo would come as a folder."""
    folders = {Path(entry).parent.name for entry in entries if "/testing/" in entry}
    assert folders == {"testing", "zoo"}
