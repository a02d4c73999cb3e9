"""Names of runs and calls, which sort by the time at which they were given."""

from __future__ import annotations

import secrets
import time

TIME_DIGITS = 12


def new_id(after: str = "") -> str:
    """A new one. It sorts after the one that is given, also where the clock was set back since."""
    now_ms = time.time_ns() // 1_000_000
    if after:
        now_ms = max(now_ms, int(after[:TIME_DIGITS], 16) + 1)
    return f"{now_ms:0{TIME_DIGITS}x}{secrets.token_hex(8)}"
