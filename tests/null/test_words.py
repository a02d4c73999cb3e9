"""One word per idea: abandoned words stay out of code, documents and messages."""

import re
from collections import Counter
from pathlib import Path

import pytest

import kernelwright as kw

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples", "zoo", "docs")
SUFFIXES = {".py", ".md", ".j2", ".toml", ".sh", ".html", ".cpp", ".h", ".hpp", ".cu", ".ambr"}
SKIPPED = ("docs/lab/LOG.md", "tests/null/test_words.py")
"""The frozen notebook, and the lists of this file."""
WORDS = {
    "zygote": "fork server", "nursery": "shared fork server", "warden": "supervisor",
    "doorkeeper": "sandbox entry", "bell": "completion signal", "wire": "protocol",
    "seat": "DeviceLock", "hall": "DeviceLock", "door": "DeviceLock", "chair": "memory slots",
    "heat": "batch", "docket": "batch judging", "glance": "stopping rule",
    "vigil": "BackgroundWorkDetector", "ambush": "InputPoisoner",
    "courtroom": "RewardPool", "court": "RewardWorker", "sitting": "TaskSession", "hear": "judge",
    "nought": "zeros", "workshop": "CapturedTask", "patchwork": "multi-part module",
    "gist": "summary",
}  # fmt: skip
"""Old words and what to use: in any form, in names, prose and the names of files."""
NAMES = {
    r"\bTurns\b|\bchildren[./]turns\b": "DeviceLock",
    r"\bmachine[./]room\b": "memory slots",
    r"\bLanes\b|\bworkers[./]lanes\b": "GPU slots",
    r"\bLooks\b|\b[A-Z_]*LOOKS(?:_A_CALL)?\b": "StackSampler",
    r"\bSpoil\b|\bTrap\b|\bmachine[./](?:spoil|gate)\b": "InputPoisoner",
    r"\bPlace\b|\bplace_of\b|\bmachine[./]place\b": "DeviceBackend",
    r"\bLine\b": "BuildQueue",
    r"\bjudge[./]draft\b": "EvaluationBuilder",
    r"\bMeeting\b|\bMEETING\b|\binputs[./]meeting\b": "index collisions",
    r"\binputs[./]together\b": "correlated inputs",
    r"\binputs[./]lasting\b": "persistent state",
}
"""Old names whose words are ordinary English elsewhere: only these forms are abandoned."""
INNOCENT = {
    "at_one_sitting": "reads a file at one sitting",
    "hears nothing of it": "a library that is not told",
}
"""Texts in which an old word means something else, with what it means."""
PENDING = {
    "bell": 20,
    "heat": 6,
    "hear": 3,
    r"\bTurns\b|\bchildren[./]turns\b": 1,
    r"\bLanes\b|\bworkers[./]lanes\b": 11,
    r"\bLooks\b|\b[A-Z_]*LOOKS(?:_A_CALL)?\b": 13,
    r"\bPlace\b|\bplace_of\b|\bmachine[./]place\b": 16,
    r"\bLine\b": 1,
}
"""How often an old word still occurs. A number may only shrink; a row at zero goes."""
PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def texts():
    """The path and the text of every file that people read, as one text each."""
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*")]
    for path in sorted([*files, *ROOT.glob("*.md"), ROOT / "Makefile"]):
        name = path.relative_to(ROOT).as_posix()
        is_text = path.suffix in SUFFIXES or path.name == "Makefile"
        if path.is_file() and is_text and name not in SKIPPED:
            text = f"{name}\n{path.read_text(encoding='utf-8')}"
            for innocent in INNOCENT:
                text = text.replace(innocent, "")
            yield text


def occurrences():
    """How often each abandoned word or name occurs."""
    forms = {}
    for word in WORDS:
        plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
        forms |= {word: word, plural: word}
    counts = Counter()
    for text in texts():
        counts.update(
            forms[low] for piece in PIECE.findall(text) if (low := piece.lower()) in forms
        )
        counts.update({name: len(re.findall(name, text)) for name in NAMES})
    return +counts


@pytest.fixture(scope="module")
def found():
    return occurrences()


@pytest.mark.parametrize("word", [*WORDS, *NAMES])
def test_an_abandoned_word_does_not_come_back(word, found):
    use = (WORDS | NAMES)[word]
    assert found[word] <= PENDING.get(word, 0), f'"{word}" came back: write "{use}"'


def test_the_glossary_explains_every_noun_and_every_new_word():
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    nouns = {"Task", "Workload", "Candidate", "Brief", "Exemplar", "Proposal", "Device"}
    nouns |= {"Evaluation", "Status", "Timing", "Archive", "Receipt", "Repetition", "Result"}
    assert nouns <= set(kw.__all__)
    missing = [term for term in (*WORDS.values(), *NAMES.values()) if term not in glossary]
    missing += [noun for noun in nouns if f"| {noun.lower()}" not in glossary]
    assert not missing
