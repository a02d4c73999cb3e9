"""Puts this folder on the path, for ``simt``: also the emitted modules import it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
