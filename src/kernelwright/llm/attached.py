"""Files that a user attaches for the models: output of other tools as text, and pictures.

Pictures are only shown to models that accept them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError

PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
MAX_PICTURE_BYTES = 3_900_000
"""Largest picture. Anthropic accepts 5 MiB of base64, which has four characters for three bytes."""
PICTURE_TOKENS = 50_000
"""Upper bound on the tokens of one picture: OpenAI's smaller models count up to 48,000 (eight tiles
of 5,667 and 2,833), its larger ones 1,445."""
MAX_TEXT = 12_000
"""Maximum number of characters shown of one file, so that it leaves room for the rest."""


def check(files: Sequence[str]) -> None:
    """Check that all files can be attached.

    Raises:
        UsageError: a file is missing, is neither text nor a picture, or is too large.
    """
    for name in files:
        try:
            data = Path(name).read_bytes()
            if not is_picture(name):
                data.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{name} cannot be attached",
                seen=str(error),
                do=f"name a text file, or a picture: {', '.join(PICTURES)}",
            ) from error
        if is_picture(name) and len(data) > MAX_PICTURE_BYTES:
            raise UsageError(
                f"the picture {name} is too large",
                seen=f"{len(data) / 1e6:.2f} MB",
                do=f"make it smaller than {MAX_PICTURE_BYTES / 1e6:.1f} MB",
            )


def is_picture(name: str) -> bool:
    return Path(name).suffix.lower() in PICTURES


def texts(files: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, text) of the text files; a long text is cut off."""
    paths = [Path(name) for name in files if not is_picture(name)]
    read = [(path.name, path.read_text(encoding="utf-8")) for path in paths]
    return [(name, t if len(t) <= MAX_TEXT else t[:MAX_TEXT] + "\n…") for name, t in read]


def with_pictures(messages: list[dict[str, Any]], pictures: Sequence[str]) -> list[dict[str, Any]]:
    """Add pictures to the last message of a chat completion request."""
    shown = [
        {"type": "image_url", "image_url": {"url": _url(Path(picture))}} for picture in pictures
    ]
    *earlier, last = messages
    if not shown:
        return messages
    return [*earlier, last | {"content": [{"type": "text", "text": last["content"]}, *shown]}]


def _url(picture: Path) -> str:
    data = base64.b64encode(picture.read_bytes()).decode()
    return f"data:{PICTURES[picture.suffix.lower()]};base64,{data}"
