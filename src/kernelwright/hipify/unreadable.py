"""Files that no compiler can read, found before anything is reported about their translation."""

from __future__ import annotations

import re

from kernelwright.hipify.finding import Finding, State

PAIRS = {")": "(", "]": "[", "}": "{"}
_SKIPPED = r"""//(?:\\\r?\n|[^\n])*|/\*.*?\*/"""
_RAW = r"""(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)["]"""
_QUOTED = r"""["](?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_DIRECTIVE = rf"^[ \t]*\#(?:{_SKIPPED}|\\\r?\n|[^\n])*"
_TOKEN = re.compile(
    rf"{_SKIPPED}|(?P<directive>{_DIRECTIVE})|{_RAW}|{_QUOTED}|[A-Za-z_]\w*|\d(?:'?[\w.])*"
    r"|(?P<bracket>[()\[\]{}])|(?P<stray>[\0\udc80-\udcff]+)",
    re.DOTALL | re.MULTILINE,
)
"""Comments, directives, literals, names, numbers, brackets, and bytes that are not text."""
_WORD = re.compile(r"#\s*(\w*)\s*(\"?)")


def is_blank(text: str) -> bool:
    """Return whether there is nothing but white space and comments."""
    return not _code(text).strip()


def unreadable(text: str) -> Finding | None:
    """Return why no compiler can read ``text``: bytes that are not text, brackets that do not
    match, or neither a declaration nor a directive in it.

    Not covered: other syntax errors, which the compile rung finds; brackets that are unbalanced
    within a branch of a conditional or a macro, as the macros of a program's header may be.
    """
    open_: list[tuple[str, int]] = []
    floors: list[int] = []
    for match in _TOKEN.finditer(text):
        if match["directive"]:
            if not _is_known(match["directive"], open_, floors):
                return None
        elif match["stray"] and not floors:
            return _finding(text, match.start(), "bytes that are no UTF-8 text", "save it as UTF-8")
        elif match["bracket"] in PAIRS:
            if floors and len(open_) <= floors[-1]:
                return None
            if not open_ or open_.pop()[0] != PAIRS[match["bracket"]]:
                return _finding(text, match.start(), f'"{match["bracket"]}" closes nothing')
        elif match["bracket"]:
            open_.append((match["bracket"], match.start()))
    if open_ and not floors:
        return _finding(text, open_[-1][1], f'"{open_[-1][0]}" is never closed')
    if not is_blank(text) and re.search(r"[;{}#]", _code(text)) is None:
        return _finding(text, 0, "it is no C++", "name a file of CUDA or HIP")
    return None


def _code(text: str) -> str:
    return re.sub(_SKIPPED, "", text, flags=re.DOTALL)


def _is_known(directive: str, open_: list[tuple[str, int]], floors: list[int]) -> bool:
    """Return whether the brackets that follow are still known, and update ``floors``, the depths of
    branches."""
    word, quote = _WORD.search(directive).groups()  # type: ignore[union-attr]
    if word.startswith("if"):
        floors.append(len(open_))
    elif word.startswith(("el", "end")):
        if not floors or len(open_) != floors[-1]:
            return False
        if word == "endif":
            floors.pop()
    elif word == "include" and quote:
        return False
    elif word == "define":
        return all(directive.count(shut) == directive.count(PAIRS[shut]) for shut in PAIRS)
    return True


def _finding(text: str, at: int, reason: str, advice: str = "mend the file first") -> Finding:
    line = text.count("\n", 0, at) + 1
    return Finding(line, State.UNPORTED, "the file", reason=reason, advice=advice)
