"""Expressions of host C++ in Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelwright.dialects.simt.source import Source, arguments, callee

_SUFFIX = re.compile(r"(?<=[\d.])(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU]?|[fF])$")
_INTEGER = re.compile(r"(const\s+)?(unsigned|int|long|short|size_t|u?int\d+_t)\b.*")
_FLOATING = re.compile(r"(const\s+)?(float|double)\b")
_NAMES = {
    "nullptr": "None", "NULL": "None", "true": "True", "false": "False",
    "INFINITY": "math.inf", "M_PI": "math.pi", "NAN": "math.nan",
    "FLT_MAX": "3.4028234663852886e+38", "FLT_MIN": "1.1754943508222875e-38",
    "INT_MAX": "2147483647",
}  # fmt: skip
_DTYPES = {
    "kFloat32": "float32", "kFloat": "float32", "kFloat16": "float16", "kHalf": "float16",
    "kBFloat16": "bfloat16", "kInt32": "int32", "kInt": "int32", "kInt64": "int64",
    "kLong": "int64", "kBool": "bool", "kUInt8": "uint8", "kByte": "uint8", "kInt8": "int8",
    "kFloat64": "float64", "kDouble": "float64",
}  # fmt: skip
_SIZES = {
    "char": 1, "uint8_t": 1, "half": 2, "__half": 2, "float": 4, "int": 4, "unsigned int": 4,
    "double": 8, "int64_t": 8, "float2": 8, "float4": 16, "scalar_t": 4,
}  # fmt: skip
"""Bytes of types; those of ``scalar_t`` are read from the tensor's dtype."""
_MATH = {"ceil", "sqrt", "floor", "log2", "log", "exp", "pow", "fabs", "tanh", "sin", "cos"}
_PROPERTIES = {"sizes": "shape", "scalar_type": "dtype", "dtype": "dtype", "device": "device",
               "is_cuda": "is_mps", "defined": "", "ndimension": "ndim"}  # fmt: skip
_OF_INTEGERS = ("size", "numel", "dim", "stride", "ndimension")
_THROUGH = ("static_cast", "reinterpret_cast", "const_cast")
_FIELDS = {"x": 0, "y": 1, "z": 2}


class Unknown(Exception):
    """A construct that rules do not know."""

    def __init__(self, line: int, construct: str, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.line, self.construct, self.reason, self.advice = line, construct, reason, advice

    @classmethod
    def at(
        cls, source: Source, node: Any, reason: str, advice: str = "write it in Python"
    ) -> Unknown:
        construct = " ".join(source.text_of(node).split())[:80]
        return cls(source.line(node), construct, reason, advice)


class Expressions:
    """Expressions of one function; it knows which of its variables are whole numbers."""

    def __init__(
        self, source: Source, owner: str, known: Mapping[str, str], kinds: Mapping[str, str]
    ) -> None:
        """``known`` are the text's host functions with what they return."""
        self._source, self._owner, self._known = source, owner, known
        self._kinds = {name: _kind_of_type(kind) for name, kind in kinds.items()}
        self._numbers: dict[str, str] = {}
        """Variables that begin as a number, with its text."""
        self.constants: dict[str, str] = {}
        """The program's constants that the function reads, with their C++."""
        self._made: dict[str, Callable[[Any], str]] = {
            "identifier": self._identifier,
            "number_literal": lambda node: _SUFFIX.sub("", self._source.text_of(node)),
            "string_literal": self._source.text_of,
            "concatenated_string": self._source.text_of,
            "true": lambda node: "True",
            "false": lambda node: "False",
            "null": lambda node: "None",
            "nullptr": lambda node: "None",
            "parenthesized_expression": lambda node: f"({self.text(node.named_children[0])})",
            "unary_expression": self._unary,
            "binary_expression": self._binary,
            "conditional_expression": self._conditional,
            "call_expression": self._call,
            "cast_expression": self._cast,
            "field_expression": self._field,
            "subscript_expression": self._subscript,
            "initializer_list": self._list,
            "compound_literal_expression": self._literal,
            "qualified_identifier": self._qualified,
            "sizeof_expression": self._sizeof,
        }

    def declare(self, name: str, kind: str, declared: Any) -> None:
        """Note a variable; the kind of ``auto`` is that of its first value."""
        value = declared.child_by_field_name("value")
        found = _kind_of_type(kind)
        if kind == "auto" and value is not None:
            found = "options" if self._is_options(value) else self.kind(value)
        self._kinds[name] = found
        if value is not None and value.type == "number_literal":
            self._numbers[name] = self.text(value)

    def text(self, node: Any) -> str:
        """Return an expression in Python.

        Raises:
            Unknown: rules do not know a part of it.
        """
        made = self._made.get(node.type)
        if made is None:
            raise Unknown.at(self._source, node, f"rules know no {node.type.replace('_', ' ')}")
        return made(node)

    def tensor(self, node: Any) -> str:
        """Return the tensor whose memory a pointer points to."""
        if node.type == "cast_expression":
            return self.tensor(node.child_by_field_name("value"))
        if node.type == "parenthesized_expression":
            return self.tensor(node.named_children[0])
        if node.type == "call_expression" and callee(self._source, node) in _THROUGH:
            return self.tensor(arguments(node)[0])
        if (
            node.type == "binary_expression"
            and self._source.text_of(node.child_by_field_name("operator")) == "+"
        ):
            whole = self.tensor(node.child_by_field_name("left"))
            return f"{whole}.view(-1)[{self.text(node.child_by_field_name('right'))}:]"
        text = self.text(node)
        if text == "None" or " if " in text:
            raise Unknown.at(self._source, node, "torch binds no null pointer",
                             "pass a tensor and a number that says whether to read it")  # fmt: skip
        return text

    def kind(self, node: Any) -> str:
        """Return 'int', 'float' or 'dim3' for what evidently is one, else an empty text."""
        text = self._source.text_of(node)
        if node.type == "number_literal":
            is_hexadecimal = text.lower().startswith("0x")
            return "int" if is_hexadecimal or not re.search(r"[.eEfF]", text) else "float"
        if node.type == "identifier":
            return self._kinds.get(text) or self._kind_of_constant(text)
        if node.type == "sizeof_expression":
            return "int"
        if node.type in ("parenthesized_expression", "unary_expression"):
            return self.kind(node.named_children[-1])
        if node.type == "cast_expression":
            return _kind_of_type(self._source.text_of(node.child_by_field_name("type")))
        if node.type == "field_expression":
            return "int" if text.rpartition(".")[2] in _FIELDS else ""
        if node.type in ("binary_expression", "conditional_expression"):
            fields = ("left", "right") if node.type[0] == "b" else ("consequence", "alternative")
            kinds = {self.kind(node.child_by_field_name(name)) for name in fields}
            return "float" if "float" in kinds else "int" if kinds == {"int"} else ""
        return self._kind_of_call(node) if node.type == "call_expression" else ""

    def constant(self, word: str) -> str:
        """Return a template's argument with constants as their values."""
        return self._numbers.get(word) or value_of_constant(self._source, word) or word

    def _kind_of_constant(self, name: str) -> str:
        value = value_of_constant(self._source, name)
        if value is None:
            return ""
        return "float" if re.search(r"\d\.|\.\d|\d[fF]\b", value) else "int"

    def _kind_of_call(self, node: Any) -> str:
        function = node.child_by_field_name("function")
        if function.type == "field_expression":
            name = self._source.text_of(function.child_by_field_name("field")).partition("<")[0]
            return "int" if name in _OF_INTEGERS else ""
        if function.type == "primitive_type":
            return _kind_of_type(self._source.text_of(function))
        name = callee(self._source, node)
        if name in ("static_cast", "min", "max"):
            listed = function.child_by_field_name("arguments")
            if listed is None and function.type == "qualified_identifier":
                listed = function.child_by_field_name("name").child_by_field_name("arguments")
            if listed is not None:
                return _kind_of_type(self._source.text_of(listed).strip("<> "))
            kinds = {self.kind(given) for given in arguments(node)}
            return "float" if "float" in kinds else "int" if kinds == {"int"} else ""
        if name in ("ceil", "floor", "ceilf", "floorf"):
            return "int"
        if name.removesuffix("f") in _MATH:
            return "float"
        return _kind_of_type(self._known.get(name, ""))

    # ---- one method a construct

    def _identifier(self, node: Any) -> str:
        return self.name(self._source.text_of(node))

    def name(self, name: str) -> str:
        """Return the Python name of a variable or of a constant of the program."""
        if name in self._kinds or name not in _NAMES:
            value = None if name in self._kinds else value_of_constant(self._source, name)
            if value is not None:
                self.constants[name] = value
                return f"{self._owner}.{name}"
            return python_name(name)
        return _NAMES[name]

    def _unary(self, node: Any) -> str:
        operator = self._source.text_of(node.child_by_field_name("operator"))
        value = self.text(node.child_by_field_name("argument"))
        return f"not {value}" if operator == "!" else f"{operator}{value}"

    def _binary(self, node: Any) -> str:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self._source.text_of(node.child_by_field_name("operator"))
        operator = {"&&": "and", "||": "or"}.get(operator, operator)
        if operator == "/" and self.kind(left) == self.kind(right) == "int":
            operator = "//"
        return f"{self.text(left)} {operator} {self.text(right)}"

    def _conditional(self, node: Any) -> str:
        condition, one, other = (
            self.text(node.child_by_field_name(name))
            for name in ("condition", "consequence", "alternative")
        )
        return f"({one} if {condition} else {other})"

    def _cast(self, node: Any) -> str:
        kind = self._source.text_of(node.child_by_field_name("type"))
        return self._converted(kind, node.child_by_field_name("value"), node)

    def _converted(self, kind: str, value: Any, node: Any) -> str:
        text = self.text(value)
        if _INTEGER.fullmatch(kind):
            return text if self.kind(value) == "int" else f"int({text})"
        if _FLOATING.match(kind):
            return f"float({text})"
        if kind == "bool":
            return f"bool({text})"
        raise Unknown.at(self._source, node, f"rules convert nothing to {kind}")

    def _field(self, node: Any) -> str:
        value = self.text(node.child_by_field_name("argument"))
        name = self._source.text_of(node.child_by_field_name("field"))
        return f"{value}[{_FIELDS[name]}]" if name in _FIELDS else f"{value}.{name}"

    def _subscript(self, node: Any) -> str:
        value = self.text(node.child_by_field_name("argument"))
        listed = node.child_by_field_name("indices") or node.named_children[-1]
        inside = [self.text(child) for child in listed.named_children]
        return f"{value}[{', '.join(inside)}]"

    def _list(self, node: Any) -> str:
        inside = [self.text(child) for child in node.named_children if child.type != "comment"]
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"

    def _literal(self, node: Any) -> str:
        kind = self._source.text_of(node.child_by_field_name("type"))
        inside = self._list(node.child_by_field_name("value"))
        if kind == "dim3":
            return f"dim3{inside}".replace(",)", ")")
        return f"[{inside[1:-1].rstrip(',')}]"

    def _qualified(self, node: Any) -> str:
        name = self._source.text_of(node).rpartition("::")[2]
        if name in _DTYPES:
            return f"torch.{_DTYPES[name]}"
        if name in ("kCUDA", "CUDA"):
            return '"mps"'
        if "nullopt" in name:
            return "None"
        raise Unknown.at(self._source, node, "rules do not know this name")

    def _sizeof(self, node: Any) -> str:
        inside = re.sub(r"^sizeof\s*\(?|\)$", "", self._source.text_of(node)).strip()
        if inside not in _SIZES:
            raise Unknown.at(self._source, node, f"rules do not know the size of {inside}")
        return "scalar_t.itemsize" if inside == "scalar_t" else str(_SIZES[inside])

    def _call(self, node: Any) -> str:
        function = node.child_by_field_name("function")
        if function.type == "field_expression":
            return self._method(node, function)
        if function.type == "primitive_type" or self._source.text_of(function) in ("size_t",):
            return self._converted(self._source.text_of(function), arguments(node)[0], node)
        name, given = callee(self._source, node), arguments(node)
        if name == "static_cast":
            listed = re.search(r"<\s*(.*?)\s*>", self._source.text_of(function))
            return self._converted(listed[1] if listed else "", given[0], node)
        texts = [self.text(argument) for argument in given]
        listed_text = ", ".join(texts)
        if name in self._known:
            return f"{self._owner}.{name}({listed_text})"
        if name == "dim3":
            return f"dim3({listed_text})"
        if name in ("min", "max"):
            return f"{name}({listed_text})"
        if name.removesuffix("f") in _MATH:
            return f"math.{name.removesuffix('f')}({listed_text})"
        if name in ("make_tuple", "tuple"):
            return f"({listed_text})"
        namespace = self._source.text_of(function).partition("::")[0]
        if namespace in ("torch", "at", "aten"):
            return self._torch(node, name, given, texts)
        raise Unknown.at(self._source, node, "rules do not know this function")

    def _torch(self, node: Any, name: str, given: list[Any], texts: list[str]) -> str:
        if name == "TensorOptions":
            return "dict()"
        if name == "Device":
            return f"torch.device({texts[0]})"
        options = [self._is_options(argument) for argument in given]
        listed = ", ".join(
            _keywords(text) if is_one else text for text, is_one in zip(texts, options, strict=True)
        )
        return f"torch.{name}({listed})"

    def _is_options(self, node: Any) -> bool:
        text = self._source.text_of(node)
        if node.type == "identifier":
            return self._kinds.get(text) == "options"
        return re.search(r"\boptions\(\)|TensorOptions", text) is not None

    def _method(self, node: Any, function: Any) -> str:
        argument = function.child_by_field_name("argument")
        value = self.text(argument)
        name = self._source.text_of(function.child_by_field_name("field")).partition("<")[0].strip()
        texts = [self.text(given) for given in arguments(node)]
        if name in ("data_ptr", "const_data_ptr", "mutable_data_ptr", "data", "value", "toTensor"):
            return value
        if name in ("packed_accessor32", "packed_accessor64", "packed_accessor", "accessor"):
            raise Unknown.at(self._source, node, "torch passes no accessors to Metal kernels",
                             "pass the pointer and the sizes")  # fmt: skip
        if name == "options":
            return f"dict(dtype={value}.dtype, device={value}.device)"
        if self._is_options(argument) and texts:
            return f"dict({value}, {name}={texts[0]})"
        if name in ("defined", "has_value"):
            return f"({value} is not None)"
        if name in _PROPERTIES and not texts:
            return f"{value}.{_PROPERTIES[name]}"
        return f"{value}.{name}({', '.join(texts)})"


def python_name(name: str) -> str:
    """Return a name of the C++ as one that Python leaves free."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _keywords(options: str) -> str:
    """Return a dictionary of options as arguments."""
    plain = re.fullmatch(r"dict\((\w+=[\w.\"]+(?:, \w+=[\w.\"]+)*)\)", options)
    return plain[1] if plain else f"**{options}"


def _kind_of_type(kind: str) -> str:
    kind = kind.replace("const ", "").strip()
    if _INTEGER.fullmatch(kind):
        return "int"
    if _FLOATING.fullmatch(kind):
        return "float"
    return "dim3" if kind == "dim3" else "options" if "TensorOptions" in kind else ""


def value_of_macro(source: Source, name: str) -> str | None:
    """Return the body of a macro; None if there is no such macro."""
    for node in source.nodes("preproc_def", "preproc_function_def"):
        if source.text_of(node.child_by_field_name("name")) == name:
            value = node.child_by_field_name("value")
            return "" if value is None else source.text_of(value).strip()
    return None


def value_of_constant(source: Source, name: str) -> str | None:
    """Return the text of a constant outside of functions; None if there is no such constant."""
    for node in source.nodes("preproc_def"):
        if source.text_of(node.child_by_field_name("name")) == name:
            value = node.child_by_field_name("value")
            return None if value is None else source.text_of(value).strip()
    for node in source.root.children:
        if node.type != "declaration":
            continue
        for declared in node.children_by_field_name("declarator"):
            if declared.type != "init_declarator":
                continue
            if source.text_of(declared.child_by_field_name("declarator")) == name:
                return source.text_of(declared.child_by_field_name("value"))
    return None
