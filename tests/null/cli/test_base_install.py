"""Every command can be asked for help where only the base dependencies are installed."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

import kernelwright
from kernelwright.cli import COMMANDS

PROJECT = tomllib.loads(
    (Path(kernelwright.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]
WITHOUT = '''
import sys

class Base:
    """A finder of modules that finds none of what is missing."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            return None
        return self.finder.find_spec(name, path, target)

sys.meta_path = [Base(finder) for finder in sys.meta_path]
from kernelwright.cli import COMMANDS, main

for command in COMMANDS:
    try:
        main.main([command, "--help"])
    except SystemExit as left:
        print(f"{{command}} ended with {{left.code}}")
'''


def plain(requirement: str) -> str:
    """The name of the distribution that a requirement asks for."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def needed(names: set[str]) -> set[str]:
    """These distributions and all that they need themselves, without their extras."""
    found: set[str] = set()
    while names:
        found |= names
        asked: set[str] = set()
        for name in names:
            try:
                asked |= {plain(r) for r in requires(name) or () if "extra ==" not in r}
            except PackageNotFoundError:
                continue
        names = asked - found
    return found


@pytest.fixture(scope="module")
def missing() -> set[str]:
    """The modules that this environment has and a base install has not."""
    base = needed({plain(r) for r in PROJECT["dependencies"]} | {PROJECT["name"]})
    extras = {plain(r) for rows in PROJECT["optional-dependencies"].values() for r in rows}
    hidden = needed(extras) - base
    return {
        module
        for module, homes in packages_distributions().items()
        for home in homes
        if home.lower().replace("_", "-") in hidden
    }


def test_a_base_install_has_every_command(missing: set[str]) -> None:
    assert {"elftools", "ray", "tree_sitter"} <= missing
    script = WITHOUT.format(missing=missing)
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (0, "")
    ended = [line for line in asked.stdout.splitlines() if " ended with " in line]
    assert ended == [f"{command} ended with 0" for command in COMMANDS]
