"""Duplicates among sources: the same tokens, or nearly the same."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict

import numpy as np

N_HASHES, N_BANDS = 96, 24
"""Number of hashes, in 24 bands of 4: two sources of similarity 0.8 share a band with probability
0.99999, of 0.3 with 0.18. Source: Leskovec, Rajaraman & Ullman, Mining of Massive Datasets, section
3.4."""
N_SHINGLE = 5  # tokens; any two kernels share shorter shingles
NEAR = 0.85
"""Similarity from which two sources count as one: renaming variables stays far above it."""
_PRIME = (1 << 31) - 1
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[^\s\w]")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\")", re.DOTALL)


def tokens(text: str) -> list[str]:
    """Return the tokens of C++ text, without comments."""
    return _TOKEN.findall(_COMMENT.sub(lambda match: match[1] or " ", text))


class SourceIndex:
    """The sources seen so far, by name."""

    def __init__(self) -> None:
        self._exact: dict[str, str] = {}
        self._bands: dict[tuple[int, bytes], list[str]] = defaultdict(list)
        self._signatures: dict[str, np.ndarray] = {}
        draw = np.random.default_rng(0)
        self._factors = draw.integers(1, _PRIME, (2, N_HASHES, 1), dtype=np.int64)

    def add(self, name: str, text: str) -> tuple[str, float] | None:
        """Return the earlier source that ``text`` repeats and their similarity. Otherwise record
        the text and return None."""
        words = tokens(text)
        key = hashlib.blake2b("\0".join(words).encode(), digest_size=16).hexdigest()
        if key in self._exact:
            return self._exact[key], 1.0
        signature = self._signature(words)
        near = self._nearest(signature)
        if near is not None and near[1] >= NEAR:
            return near
        self._exact[key] = name
        self._signatures[name] = signature
        for band in self._bands_of(signature):
            self._bands[band].append(name)
        return None

    def _signature(self, words: list[str]) -> np.ndarray:
        """Return a MinHash over shingles in which all names that the program declares look alike.

        Shapes:
            result: (N_HASHES,) int64.
        """
        shapes = [_shape(word) for word in words]
        last = max(1, len(shapes) - N_SHINGLE + 1)
        shingles = {" ".join(shapes[i : i + N_SHINGLE]) for i in range(last)}
        raw = [hashlib.blake2b(s.encode(), digest_size=4).digest() for s in sorted(shingles)]
        values = np.array([int.from_bytes(r, "little") % _PRIME for r in raw], dtype=np.int64)
        factor, offset = self._factors
        return ((values[None, :] * factor + offset) % _PRIME).min(axis=1)

    def _bands_of(self, signature: np.ndarray) -> list[tuple[int, bytes]]:
        return [(i, part.tobytes()) for i, part in enumerate(np.split(signature, N_BANDS))]

    def _nearest(self, signature: np.ndarray) -> tuple[str, float] | None:
        names = {name for band in self._bands_of(signature) for name in self._bands.get(band, ())}
        found = [(float((self._signatures[n] == signature).mean()), n) for n in sorted(names)]
        return max(((name, share) for share, name in found), key=lambda f: f[1], default=None)


def _shape(word: str) -> str:
    """Return a token with the freedom of naming removed: API names and keywords stay themselves."""
    is_free = re.fullmatch(r"[a-z]\w?\w?|[a-z]+(_\w+)+|[a-z]+\d*", word)
    return "v" if is_free and word not in _KEPT else word


_KEPT = frozenset(
    {
        "auto", "bool", "break", "case", "char", "class", "const", "continue", "do", "double",
        "else", "float", "for", "if", "int", "long", "return", "short", "signed", "sizeof",
        "static", "struct", "switch", "template", "typename", "unsigned", "void", "while",
    }
)  # fmt: skip
