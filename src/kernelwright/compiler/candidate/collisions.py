"""Names of an emitted file that the reference's own text has too: the file's own give way."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Sequence

from kernelwright.compiler.candidate.splice import Spliced, defined_names
from kernelwright.core.syntax import lines, parse

SUFFIX = "_of_kernels"


def names_of(reference: Spliced, *others: str) -> set[str]:
    """The names that a reference's text has at its top level; ``others`` are more of its text."""
    texts = (*reference.imports, reference.definitions, *others)
    return {name for text in texts for node in parse(text).body for name in defined_names(node)}


def apart(
    sections: Sequence[str], imports: Sequence[str], reference: Spliced, *others: str
) -> tuple[list[str], list[str]]:
    """The sections and the imports, with other names in place of those that the reference has.

    An import that the reference has as well, word for word, is the same to both. Names in comments
    and docstrings stay.
    """
    theirs = names_of(reference, *others)
    shared = {line for text in reference.imports for line in text.splitlines()}
    own = [line for line in imports if line not in shared]
    defined = {name for section in sections for name in _defined_in(section)}
    defined |= {name for line in own for node in parse(line).body for name in defined_names(node)}
    renames = {name: name + SUFFIX for name in defined & theirs}
    if not renames:
        return list(sections), list(imports)
    bound = [_bound(line, renames) if line in own else line for line in imports]
    return [renamed(section, renames) for section in sections], bound


def _defined_in(section: str) -> Iterable[str]:
    """The names that a section defines at the top level; a class's methods are none."""
    if section.lstrip("\n").startswith(" "):
        section = f"class _:\n{section}"
    return (name for node in parse(section).body for name in defined_names(node))


def _bound(line: str, renames: dict[str, str]) -> str:
    """An import statement that binds the new name."""
    (node,) = parse(line).body
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    for alias in node.names:
        if (name := alias.asname or alias.name) in renames:
            alias.asname = renames[name]
    return ast.unparse(node)


def renamed(text: str, renames: dict[str, str]) -> str:
    """The text with its variables renamed; attributes and keywords of calls are none."""
    if not re.search(rf"\b({'|'.join(map(re.escape, renames))})\b", text):
        return text  # long texts of kernels take long to be cut into tokens
    rows = lines(text)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    changes = []
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        is_attribute = before is not None and before.string == "."
        is_keyword = after is not None and after.string == "=" and _is_inside(before)
        new = renames.get(token.string, token.string)
        if token.type == tokenize.STRING and _is_format(token.string):
            new = _in_format(token.string, renames)
        if new != token.string and not is_attribute and not is_keyword:
            changes.append((token.start, token.end, new))
    for (line, start), (last, end), new in reversed(changes):
        tail = rows[last - 1][end:]
        rows[line - 1 : last] = [rows[line - 1][:start] + new + tail]
    return "".join(rows)


def _is_inside(before: tokenize.TokenInfo | None) -> bool:
    """Whether what follows this token stands in a call or in a list of parameters."""
    return before is not None and before.string in ("(", ",")


def _is_format(text: str) -> bool:
    return "f" in text.partition(text[-1])[0].lower()


def _in_format(text: str, renames: dict[str, str]) -> str:
    """An f-string with the variables between its braces renamed. Before 3.12 it is one token."""
    names = "|".join(map(re.escape, renames))
    variable = re.compile(rf"(?<![\w.])({names})\b")
    braces = re.compile(r"(?<!\{)\{(?!\{)[^{}]*")
    return braces.sub(lambda it: variable.sub(lambda name: renames[name[1]], it[0]), text)
