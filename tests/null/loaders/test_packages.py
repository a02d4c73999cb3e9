"""The error about a file in a package says by which name it can be loaded."""

import sys

import pytest

from kernelwright.core.errors import TaskError
from kernelwright.loaders import load

FILE = """
import torch
{imports}

class Gate(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * SCALE
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes t/pkg_of_mine/sub/mod.py with the given imports; t is in the working folder."""
    monkeypatch.chdir(tmp_path)

    def make(imports):
        sub = tmp_path / "t" / "pkg_of_mine" / "sub"
        sub.mkdir(parents=True)
        for folder in (sub, sub.parent):
            (folder / "__init__.py").touch()
        (sub.parent / "sizes.py").write_text("SCALE = 2.0\n")
        (sub / "mod.py").write_text(FILE.format(imports=imports))
        return "t/pkg_of_mine/sub/mod.py"

    yield make
    for name in [name for name in sys.modules if name.startswith("pkg_of_mine")]:
        del sys.modules[name]


@pytest.mark.parametrize("entry", [":Gate", ""])
@pytest.mark.parametrize(
    "imports", ["from ..sizes import SCALE", "from pkg_of_mine.sizes import SCALE"]
)
def test_a_package_file_gets_an_error_with_its_import_name(package, monkeypatch, imports, entry):
    with pytest.raises(TaskError, match="does not import") as caught:
        load(package(imports) + entry, inputs=["float32[3,8]"] if entry else None)
    name = "pkg_of_mine.sub.mod" + (entry or ":Model")
    assert caught.value.do == f"name it by its package, {name}, in the folder t"
    monkeypatch.chdir("t")
    monkeypatch.syspath_prepend(".")
    if entry:
        assert load(name, inputs=["float32[3,8]"]).name == "Gate"


def test_a_folder_without_init_may_be_a_package(package, tmp_path):
    place = package("from .sizes import SCALE")
    (tmp_path / "t/pkg_of_mine/sub/__init__.py").unlink()
    with pytest.raises(TaskError, match=r"pkg_of_mine\.sub\.mod:Gate, in the folder t$"):
        load(f"{place}:Gate", inputs=["float32[3,8]"])


def test_a_missing_foreign_package_is_reported_unchanged(package):
    with pytest.raises(TaskError, match="pip install no_such_package"):
        load(package("import no_such_package") + ":Gate", inputs=["float32[3,8]"])
