"""Content digests: the identity of tasks, candidates and environments."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest(*parts: Any) -> str:
    """The digest of JSON-like parts, as ``b2:`` and 32 hexadecimal digits.

    The algorithm is part of the text, so that a later change of algorithm is seen.
    """
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "b2:" + hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
