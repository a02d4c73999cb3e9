"""The origin of a source and its licence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelwright.core.checkout import git

UNKNOWN = "NOASSERTION"
"""SPDX's value for a licence that is not stated. Source: SPDX specification 2.3, section 7.13."""
# lines at the top that may hold a licence comment; later mentions are about something else
_HEAD_LINES = 60
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([^\s*/][^\n*/]*)")
_NAMES = re.compile(r"(licen[cs]e|copying|unlicense)([-._].*)?", re.IGNORECASE)
_PHRASES = (
    ("Apache-2.0", r"apache license,?\s+version 2\.0"),
    ("AGPL-3.0-only", r"gnu affero general public license\s+version 3"),
    ("LGPL-3.0-only", r"gnu lesser general public license\s+version 3"),
    ("LGPL-2.1-only", r"gnu lesser general public license\s+version 2\.1"),
    ("GPL-3.0-only", r"gnu general public license\s+version 3"),
    ("GPL-2.0-only", r"gnu general public license\s+version 2"),
    ("MPL-2.0", r"mozilla public license,?\s+version 2\.0"),
    ("BSL-1.0", r"boost software license"),
    ("Unlicense", r"free and unencumbered software released into the public domain"),
    ("CC0-1.0", r"cc0 1\.0 universal"),
    ("BSD-3-Clause", r"redistribution and use in source and binary forms.*(neither the name|names? "
     r"of (its|the) contributors)"),
    ("BSD-2-Clause", r"redistribution and use in source and binary forms"),
    ("MIT", r"permission is hereby granted, free of charge.*without restriction"),
    ("ISC", r"permission to use, copy, modify, and(/or)? distribute this software"),
)  # fmt: skip
"""Phrases of licence texts, the more specific ones first. Source: the SPDX licence list."""


@dataclass(frozen=True)
class Provenance:
    """The origin of one file."""

    origin: str
    """The address of the repository, or the name of the tree."""
    commit: str
    """The commit that is checked out; empty if the tree is not a git checkout."""
    licence: str
    """An SPDX expression, or ``NOASSERTION``."""
    licence_source: str
    """'header', or the path of the licence file from the tree's root; empty if unknown."""


def provenance(path: Path, tree: Path) -> Provenance:
    """Return the provenance of the file at ``path`` under ``tree``: from its own header, otherwise
    from the nearest licence file."""
    origin, commit = _checkout(tree)
    head = "\n".join(path.read_text(errors="replace").splitlines()[:_HEAD_LINES])
    stated = _SPDX.search(head)
    if stated:
        return Provenance(origin, commit, stated[1].strip(), "header")
    if named := _named(head):
        return Provenance(origin, commit, named, "header")
    for folder in path.parents:
        for licence in sorted(p for p in folder.iterdir() if _NAMES.fullmatch(p.name)):
            if licence.is_file():
                text = licence.read_text(errors="replace")
                source = str(licence.relative_to(tree))
                return Provenance(origin, commit, _named(text) or UNKNOWN, source)
        if folder == tree:
            break
    return Provenance(origin, commit, UNKNOWN, "")


def _named(text: str) -> str | None:
    """Return the licence whose words ``text`` contains, ignoring comment marks and line breaks."""
    plain = re.sub(r"[\s*/#]+", " ", text.lower())
    return next((name for name, words in _PHRASES if re.search(words, plain)), None)


@cache
def _checkout(tree: Path) -> tuple[str, str]:
    commit = git(tree, "rev-parse", "HEAD")
    address = git(tree, "config", "--get", "remote.origin.url") if commit else ""
    return re.sub(r"//[^/@]*@", "//", address) or tree.resolve().name, commit
