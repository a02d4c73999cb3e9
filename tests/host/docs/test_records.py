"""Experiments and decisions stay short enough to be read."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
RECORDS = [
    path
    for folder in ("lab", "adr")
    for path in sorted((DOCS / folder).glob("*.md"))
    if path.name not in {"LOG.md", "README.md"}
]
MOST_WORDS = 200


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_a_record_is_short(path):
    table = re.compile(r"^\|.*$|^```.*?^```", re.M | re.S)
    assert len(table.sub("", path.read_text()).split()) < MOST_WORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_a_record_is_named_by_its_number_or_its_day(path):
    form = r"\d{3}-[a-z0-9-]+\.md" if path.parent.name == "adr" else r"\d{4}-\d\d-\d\d-[\w-]+\.md"
    assert re.fullmatch(form, path.name)
