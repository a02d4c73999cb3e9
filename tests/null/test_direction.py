"""Arrows point down: no module imports upwards or sideways, functions included."""

import ast
from pathlib import Path

import kernelwright

ROOT = Path(kernelwright.__file__).parent
LEVELS = {
    "core": 0,
    "dialects": 1, "load": 1, "tasks": 1, "parquet": 1, "cards": 1,
    "translate": 1.5,  # reads dialects' syntax, and is what a proposer proposes
    "propose": 2, "judge": 2, "archive": 2, "select": 2, "receipt": 2,
    "compose": 2, "pairs": 2, "result": 2, "side_by_side": 2,
    "lanes": 2.2, "in_process": 2.5,
    "search": 3, "port": 3, "train": 3, "report": 3, "testing": 3, "doctor": 3,
    "dataset": 3,
    "build": 4, "dispatch": 4, "api": 4, "answers": 4, "terminal": 4, "progress": 4, "signals": 4,
    "streams": 4,
    "bench": 4.5, "docket": 4.5,
    "options": 5, "commands": 5, "cli": 5, "__init__": 5, "__main__": 5,
}  # fmt: skip
JUDGE = {
    "refusal": 0, "baselines": 0, "isolation": 1, "numerics": 1, "machine": 2,
    "inputs": 3, "children": 3, "reference": 4, "kinds": 5, "timing": 6,
}  # fmt: skip
"""The folders of the judge, and what all of them may name; other files of its are above them."""
MIXED = (4, 5)
"""What stands on one of these levels may import from it."""


def part(module: str) -> str:
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else "__init__"


def imported(path: Path) -> set[str]:
    """The kernelwright modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found |= (
                {f"{module}.{a.name}" for a in node.names} if module == "kernelwright" else {module}
            )
    return {name for name in found if name.split(".")[0] == "kernelwright"}


def test_every_import_points_down():
    wrong = []
    for path in ROOT.rglob("*.py"):
        if path.is_relative_to(ROOT / "tasks"):
            continue  # task files are data
        here = path.relative_to(ROOT).with_suffix("").parts[0]
        for module in imported(path):
            there = part(module)
            if there == here or LEVELS[here] == LEVELS[there] in MIXED:
                continue
            if LEVELS[there] >= LEVELS[here]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_the_folders_of_the_judge_import_downwards():
    judge, wrong = ROOT / "judge", []
    for folder in filter(Path.is_dir, judge.iterdir()):
        for path in folder.glob("*.py"):
            for module in imported(path):
                pieces = module.split(".")[1:]
                there = pieces[1] if pieces[0] == "judge" and len(pieces) > 1 else folder.name
                if there != folder.name and JUDGE.get(there, 7) >= JUDGE[folder.name]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_importing_the_package_imports_no_torch():
    import subprocess
    import sys

    code = (
        "import sys, kernelwright, kernelwright.cli, kernelwright.core.settings; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_functions_stay_functions_when_their_folders_are_imported():
    import kernelwright.load

    assert callable(kernelwright.load)
    assert callable(kernelwright.judge)
