"""A library setting as a standalone candidate file: what a user gets when no kernel is faster."""

from __future__ import annotations

import ast
import base64
import inspect

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.syntax import lines, parse
from kernelwright.core.task import Task
from kernelwright.judge.baselines.library_settings import SETTINGS, Setting, settings_of
from kernelwright.judge.sandbox.lowering import lower

TEMPLATE = '''

class ModelNew(torch.nn.Module):
    """The reference as it is, run with the library setting "{name}": {why}."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        inner = {entry}(*args, **kwargs)
        # The reference's own attributes, so that its state_dict fits by name.
        self.__dict__.update(inner.__dict__)
        self.__dict__ |= {{"_inner": inner, "_run": {run}}}

    def forward(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def train(self, mode=True):
        self._inner.train(mode)
        return super().train(mode)
'''


def library_candidate(task: Task, setting: str) -> Candidate:
    """The reference under a library setting, as a file that needs nothing but torch.

    A payload that the task's text reads is written into the file.

    Raises:
        UsageError: no such setting.
    """
    kinds = [settings_of(kind, task.precision, max_autotune=True) for kind in SETTINGS]
    known = {row.name: row for rows in kinds for row in rows}
    if setting not in known:
        raise UsageError(f'unknown setting "{setting}"', seen=setting, do=nearest(setting, known))
    return _write(task, known[setting])


def _write(task: Task, setting: Setting) -> Candidate:
    run, head = "inner", ""
    if task.precision:
        run = f"lower(inner, {task.precision!r}, is_held={setting.is_held})"
    if setting.compile is not None:
        arguments = "".join(f", {key}={value!r}" for key, value in setting.compile.items())
        run = f"torch.compile({run}{arguments})"
    if task.payload is not None:
        text = base64.b64encode(task.payload).decode()
        head += f'import base64\n\nPAYLOAD = base64.b64decode("{text}")\n\n'
    if setting.environment:
        pairs = "".join(
            f"os.environ.setdefault({k!r}, {v!r})\n" for k, v in setting.environment.items()
        )
        head += (
            "import os\n\n# torch reads these when it allocates for the first time: import this "
            f"file before using torch.\n{pairs}\n"
        )
    docstring_end = _after_future_imports(task.source)
    source = task.source[:docstring_end] + head + task.source[docstring_end:]
    if "import torch" not in source:
        source = "import torch\n" + source
    body = TEMPLATE.format(name=setting.name, why=setting.why, entry=task.model, run=run)
    if task.precision:
        text = inspect.getsource(lower).replace(": Any", "").replace(" -> Any", "")
        body = f"\n\n{text}{body}"
    return Candidate(source.rstrip() + "\n" + body, "torch")


def _after_future_imports(source: str) -> int:
    """The position at which code may be inserted: after the docstring and __future__ imports."""
    end_line = 0
    for number, node in enumerate(parse(source).body):
        is_docstring = number == 0 and isinstance(node, ast.Expr)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (is_docstring or is_future):
            break
        end_line = node.end_lineno or 0
    return sum(map(len, lines(source)[:end_line]))
