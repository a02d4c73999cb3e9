"""PTX text as variables and functions, each with its instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LINES = re.compile(
    r"^[ \t]*\.(?:loc|file|pragma|version|target|address_size)\b[^\n]*", re.MULTILINE
)
"""Directives that end with their lines and change nothing."""
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)\s*([%$\w]+)\s+")
_SEVERAL = re.compile(r"([%\w$]+)<(\d+)>")
_NAME = re.compile(r"(?<![\w$.%])(?:%?[A-Za-z_$][\w$]*|%[\w$]+)")
_VARIABLE = re.compile(
    r"(?P<marks>(?:\.(?:visible|extern|weak|common)\s+)*)\.(?P<space>global|const|shared|local|param)\s+"
    r"(?:\.align\s+(?P<align>\d+)\s+)?(?:\.v(?P<n>[24])\s+)?\.(?P<type>\w+)\s+(?P<rest>.+)",
    re.DOTALL,
)
_DECLARED = re.compile(r"([%\w$]+)((?:\[\s*\d*\s*\])*)(?:\s*=\s*(.+))?", re.DOTALL)
_PARAMETER = re.compile(
    r"\.(?:param|reg)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr(?:\s*\.\w+)*(?:\s+\d+)?\s+)?"
    r"(?:\.align\s+(\d+)\s+)?([%\w$]+)(\[\s*(\d*)\s*\])?"
)
_HEAD = re.compile(
    r"(?P<marks>(?:\.(?:visible|extern|weak)\s+)*)\.(?P<kind>entry|func)\s*"
    r"(?:\((?P<returns>[^()]*)\)\s*)?(?P<name>[%\w$]+)\s*(?:\((?P<parameters>[^()]*)\))?",
    re.DOTALL,
)
BYTES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
         "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
         "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}  # fmt: skip
"""Bytes of PTX's types. Source: PTX ISA 9.0, section 5.2."""
_WHOLE = re.compile(r"(-?)(?:(0[xX][0-9a-fA-F]+|0[bB][01]+|[1-9]\d*)|0([0-7]*))U?")
_ENDING = ("ret", "exit", "trap", "bra", "brx")
"""The first words of instructions that nothing is executed behind, unless they have a guard."""


@dataclass(frozen=True)
class Instruction:
    """One instruction; names of its scope are unique in its function."""

    line: int
    opcode: str
    operands: tuple[str, ...]
    guard: str = ""
    """The predicate that it is executed under, with a ``!`` before it if it is negated."""

    def __str__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".rstrip()


@dataclass(frozen=True)
class Label:
    name: str


@dataclass(frozen=True)
class Variable:
    """A variable, or a parameter of a call. ``count`` is its number of elements, None if it has no
    size of its own; a scalar has one."""

    line: int
    space: str
    name: str
    type: str
    count: int | None = 1
    align: int = 0
    initial: tuple[str, ...] = ()
    is_extern: bool = False

    @property
    def alignment(self) -> int:
        return max(self.align, BYTES.get(self.type, 1))

    @property
    def n_bytes(self) -> int:
        return (self.count or 0) * BYTES.get(self.type, 1)


@dataclass
class Function:
    """A kernel (``.entry``) or a device function (``.func``)."""

    line: int
    name: str
    is_entry: bool
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    is_defined: bool = True
    body: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    """Names → PTX types."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """Variables of the function, and parameters of its calls."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Lists of labels, for ``brx.idx``."""
    prototypes: dict[str, Function] = field(default_factory=dict)
    """Signatures of functions that are called by their addresses."""


@dataclass
class Module:
    """A PTX file."""

    target: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    strays: list[tuple[int, str]] = field(default_factory=list)
    """(line, text) of what cannot be read."""


def read_ptx(text: str) -> Module:
    """Read PTX; what it does not understand is kept as strays."""
    module = Module()
    clean = _COMMENT.sub(_blank, text)
    if found := re.search(r"^\s*\.target\s+(\w+)", clean, re.MULTILINE):
        module.target = found[1]
    reader = _Reader(_LINES.sub("", clean), module)
    reader.read()
    return module


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])


class _Reader:
    """One walk over a file's text."""

    def __init__(self, text: str, module: Module) -> None:
        self.text, self.module, self.at = text, module, 0
        self.line, self.counted = 1, 0
        self.function: Function | None = None
        self.scopes: list[dict[str, str]] = []
        self.labels: set[str] = set()
        self.taken: set[str] = set()
        """Names of C++ that are taken in the function: its own, and the module's before it."""
        self.jumps: list[tuple[int, str, list[dict[str, str]]]] = []
        """Jumps of the function: their places, operands, and the scopes that they stand in."""

    def read(self) -> None:
        while (start := self._skipped()) < len(self.text):
            self.at = start
            if self.function is not None:
                self._in_function()
            else:
                self._outside()
        if self.function is not None:
            self.module.strays.append((self.function.line, f"{self.function.name}: no end of it"))

    def _skipped(self) -> int:
        found = _SPACE.match(self.text, self.at)
        return found.end() if found else self.at

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _outside(self) -> None:
        found = _HEAD.match(self.text, self.at)
        if found:
            self._head(found)
            return
        line = self._line()
        if re.compile(r"\.section\b").match(self.text, self.at):
            self.at = self._closing(self.text.find("{", self.at)) + 1
            return
        statement = self._statement()
        variables = list(_variables(statement, line))
        if not variables and statement and not statement.startswith(".alias"):
            self.module.strays.append((line, statement))
        for variable in variables:
            self.module.variables[variable.name] = variable

    def _head(self, found: re.Match[str]) -> None:
        line = self._line()
        end = re.compile(r"[;{]").search(self.text, found.end())
        self.at = end.end() if end else len(self.text)
        function = _signature(found, line)
        function.is_defined = end is not None and end[0] == "{"
        known = self.module.functions.get(function.name)
        if known is None or function.is_defined:
            self.module.functions[function.name] = function
        if function.is_defined:
            self.function, self.scopes, self.labels, self.jumps = function, [{}], set(), []
            self.taken = {_plain(n) for n in (*self.module.variables, *self.module.functions)}

    def _in_function(self) -> None:
        assert self.function is not None
        mark = self.text[self.at]
        if mark == "{":
            self.scopes.append({})
            self.at += 1
        elif mark == "}":
            self.scopes.pop()
            self.at += 1
            if not self.scopes:
                self._aim_jumps()
                self._end()
                self.function = None
        elif found := _LABEL.match(self.text, self.at):
            self._label(found)
        else:
            line = self._line()
            self._add(self._statement(), line)

    def _label(self, found: re.Match[str]) -> None:
        assert self.function is not None
        name, self.at = found[1], found.end()
        after = self._skipped()
        if self.text.startswith((".branchtargets", ".callprototype", ".calltargets"), after):
            self.at = after
            line, statement = self._line(), self._statement()
            if statement.startswith(".branchtargets"):
                listed = statement.split(None, 1)[1].split(",")
                self.function.tables[name] = tuple(word.strip() for word in listed)
            elif statement.startswith(".callprototype"):
                head = re.sub(r"^\.callprototype", ".func", statement)
                if prototype := _HEAD.match(head):
                    self.function.prototypes[name] = _signature(prototype, line)
            return
        self.function.body.append(Label(self._unique(name, self.labels)))

    def _aim_jumps(self) -> None:
        """Give jumps the names of their labels, which may stand behind them."""
        assert self.function is not None
        for at, rest, scopes in self.jumps:
            self.scopes = scopes
            operands = tuple(split_operands(self._resolved(rest)))
            now = self.function.body[at]
            assert isinstance(now, Instruction)
            self.function.body[at] = replace(now, operands=operands)

    def _end(self) -> None:
        """Return at the end of the function, as PTX does without being told to."""
        assert self.function is not None
        body = self.function.body
        last = body[-1] if body else None
        is_instruction = isinstance(last, Instruction) and not last.guard
        if not (is_instruction and last.opcode.partition(".")[0] in _ENDING):
            body.append(Instruction(self._line(), "ret", ()))

    def _unique(self, name: str, taken: set[str]) -> str:
        """Return the name in this function of a name that this scope declares."""
        unique, k = name, 0
        while _plain(unique) in taken:
            k += 1
            unique = f"{name}_{k}"
        taken.add(_plain(unique))
        self.scopes[-1][name] = unique
        return unique

    def _resolved(self, text: str) -> str:
        return _NAME.sub(lambda found: self._named(found[0]), text)

    def _named(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _statement(self) -> str:
        """Return the text up to the next semicolon, and go behind it."""
        at = self.at
        while at < len(self.text) and self.text[at] != ";":
            found = _STRING.match(self.text, at) if self.text[at] == '"' else None
            at = found.end() if found else at + 1
        statement, self.at = self.text[self.at : at].strip(), at + 1
        return statement

    def _closing(self, opened: int) -> int:
        depth = 0
        for at in range(max(opened, 0), len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[at], 0)
            if depth == 0:
                return at
        return len(self.text)

    def _add(self, statement: str, line: int) -> None:
        assert self.function is not None
        function = self.function
        if statement.startswith(".reg"):
            self._registers(statement, line)
            return
        if variables := list(_variables(statement, line)):
            for each in variables:
                name = self._unique(each.name, self.taken)
                function.variables[name] = replace(each, name=name)
            return
        if not statement:
            return
        guard = ""
        if found := _GUARD.match(statement):
            guard, statement = found[1] + self._named(found[2]), statement[found.end() :]
        pieces = statement.split(None, 1)
        opcode, rest = pieces[0], pieces[1] if len(pieces) > 1 else ""
        if opcode.startswith("bra"):
            self.jumps.append((len(function.body), rest, list(self.scopes)))
        operands = tuple(split_operands(self._resolved(rest)))
        function.body.append(Instruction(line, opcode, operands, guard))

    def _registers(self, statement: str, line: int) -> None:
        assert self.function is not None
        found = re.fullmatch(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.+)", statement, re.DOTALL)
        if found is None:
            self.module.strays.append((line, statement))
            return
        for name in (word.strip() for word in found[2].split(",")):
            several = _SEVERAL.fullmatch(name)
            names = [f"{several[1]}{k}" for k in range(int(several[2]))] if several else [name]
            for each in names:
                self.function.registers[self._unique(each, self.taken)] = found[1]


def _plain(name: str) -> str:
    """Return what PTX's name has in common with all that are the same in C++."""
    return re.sub(r"\W", "_", name.lstrip("%"))


def integer_of(text: str) -> int | None:
    """Return the value of an integer literal; None if the text is none."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    value = int(found[2], 0) if found[2] else int(found[3] or "0", 8)
    return -value if found[1] else value


def split_operands(text: str) -> Iterator[str]:
    """Yield operands; commas in brackets do not separate."""
    depth, start = 0, 0
    for at, mark in enumerate(text):
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _variables(statement: str, line: int) -> Iterator[Variable]:
    """Yield the variables that a statement declares; none if it is no declaration."""
    found = _VARIABLE.fullmatch(statement)
    if found is None:
        return
    per_element = int(found["n"] or 1)
    for piece in split_operands(found["rest"]):
        one = _DECLARED.fullmatch(piece)
        if one is None:
            continue
        count: int | None = per_element
        for extent in re.findall(r"\[\s*(\d*)\s*\]", one[2]):
            count = None if not extent or count is None else count * int(extent)
        initial = tuple(re.findall(r"[^\s{},][^{},]*", one[3])) if one[3] else ()
        if count is None and initial:
            count = len(initial)
        yield Variable(
            line, found["space"], one[1], found["type"], count, int(found["align"] or 0),
            tuple(word.strip() for word in initial), ".extern" in found["marks"],
        )  # fmt: skip


def _signature(found: re.Match[str], line: int) -> Function:
    return Function(
        line,
        found["name"],
        found["kind"] == "entry",
        tuple(_parameters(found["returns"] or "", line)),
        tuple(_parameters(found["parameters"] or "", line)),
    )


def _parameters(text: str, line: int) -> Iterator[Variable]:
    for found in _PARAMETER.finditer(text):
        count = 1 if found[5] is None else int(found[6] or 0)
        align = int(found[1] or found[3] or 0) if found[5] is not None else 0
        yield Variable(line, "param", found[4], found[2], count, align)
