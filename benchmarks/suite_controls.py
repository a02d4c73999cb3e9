"""Two candidates for every built-in task: one that must pass and one that must be refused.

controls/TASK/right.py    a ModelNew that must pass
controls/TASK/wrong.py    a ModelNew with one plausible mistake
"""

from __future__ import annotations

from pathlib import Path

CONTROLS = ("right", "wrong")


def control(task: str, which: str) -> Path:
    """The file of a built-in task's ``right`` or ``wrong`` candidate."""
    return Path(__file__).parent / "controls" / task / f"{which}.py"
