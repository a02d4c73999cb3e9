"""Trees of Python from several threads at a time."""

import ast
import sys
import threading

from kernelwright.core.syntax import lines, parse, parse_expression

SOURCE = "\n".join(
    f"def f{n}(x):\n    return [((x + {n}) * 2, (1, 2))] if x else g(x)" for n in range(40)
)
EXPRESSION = f"[{', '.join(f'f(x + {n})' for n in range(40))}]"


def test_threads_that_parse_do_not_disturb_one_another():
    failed = []

    def work():
        try:
            for _ in range(30):
                parse(SOURCE)
                parse_expression(EXPRESSION)
        except BaseException as error:
            failed.append(error)

    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(was)
    assert failed == []
    assert ast.dump(parse("x = 1")) == ast.dump(ast.parse("x = 1"))
    assert ast.unparse(parse_expression("f(x)")) == "f(x)"


def test_lines_are_those_that_trees_number():
    text = "a = 1\n\x0c\nb = '\u2028'\r\nc = 2"
    assert lines(text) == ["a = 1\n", "\x0c\n", "b = '\u2028'\r\n", "c = 2"]
    assert [node.lineno for node in parse(text).body] == [1, 3, 4]
