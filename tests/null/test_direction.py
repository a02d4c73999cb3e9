"""Arrows point down: no module imports upwards or sideways, functions included."""

import ast
from pathlib import Path
from types import ModuleType

import kernelwright

ROOT = Path(kernelwright.__file__).parent
LEVELS = {
    "core": 0,
    "dialects": 1,
    "loaders": 2, "hipify": 2, "isa": 2, "lift": 2,
    "suites": 3, "compiler": 3, "llm": 3, "judge": 3, "archive": 3,
    "proposers": 4, "workers": 4,
    "dataset": 5, "tuner": 5,
    "search": 6, "port": 6, "train": 6, "report": 6, "testing": 6,
    "runtime": 7, "console": 7, "shipping": 7,
    "api": 8,
    "bench": 9, "batch": 9, "models": 9,
    "service": 10, "cli": 10, "__init__": 10, "__main__": 10,
}  # fmt: skip
JUDGE = {
    "refusal": 0, "baselines.library_settings": 0, "compare": 1, "devices": 1, "sandbox": 2,
    "timing": 3, "perturb": 3, "profile": 4, "checks": 5, "reference": 6, "kinds": 7,
    "verify": 7, "submission": 8, "scheduling": 9, "baselines": 10,
}  # fmt: skip
"""The folders of the judge, and single files that they may import; all other files of the judge are
above them."""
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
        if path.is_relative_to(ROOT / "suites" / "builtin"):
            continue  # task files are data
        here = path.relative_to(ROOT).with_suffix("").parts[0]
        for module in imported(path):
            there = part(module)
            if there == here or LEVELS[here] == LEVELS[there] == 10:
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
                if pieces[0] != "judge" or len(pieces) == 1 or pieces[1] == folder.name:
                    continue
                level = JUDGE.get(".".join(pieces[1:3]), JUDGE.get(pieces[1], 9))
                if level >= JUDGE[folder.name]:
                    wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_no_module_of_the_judge_imports_itself_by_way_of_others():
    modules = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path
        for path in (ROOT / "judge").rglob("*.py")
        if path.name != "__init__.py"
    }
    arrows = {}
    for name, path in modules.items():
        nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
        named = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
        arrows[name] = (named | {node.module for node in nodes}) & set(modules)
    while leaves := [name for name, others in arrows.items() if not others & set(arrows)]:
        for name in leaves:
            del arrows[name]
    assert not arrows


def test_importing_the_package_imports_no_torch():
    import subprocess
    import sys

    code = (
        "import sys, kernelwright, kernelwright.cli, kernelwright.core.settings; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_functions_stay_functions_when_their_folders_are_imported():
    import kernelwright.judge
    import kernelwright.report.page

    assert not isinstance(kernelwright.judge, ModuleType)
    assert not isinstance(kernelwright.report, ModuleType)


def test_proposers_cannot_see_the_judge():
    """Nothing can be written against a judge that it does not know: docs/adr/001-one-judge.md."""
    folders = [ROOT / name for name in ("proposers", "compiler", "llm")]
    seen = {
        module for folder in folders for path in folder.rglob("*.py") for module in imported(path)
    }
    assert not {part(module) for module in seen} & {"judge", "archive"}
