"""What git says of a folder."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """git's answer; empty where there is no git, or the folder is no checkout."""
    try:
        run = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""
