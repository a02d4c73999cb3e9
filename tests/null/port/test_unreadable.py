"""Files that no compiler reads are said to be so; whatever one reads is let through."""

from pathlib import Path

import pytest

from kernelwright.bench.port_bench import programs
from kernelwright.core.errors import UsageError
from kernelwright.hipify.unreadable import unreadable
from kernelwright.port import RungStatus, port

SOURCES = Path(__file__).parents[3] / "src/kernelwright"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"int x;\n__global__ void k( {", ':2: unported: the file; "{" is never closed'),
        (b"void f() {\n}\n}\n", ':3: unported: the file; "}" closes nothing'),
        (b"int a[3);\n", '")" closes nothing'),
        (b"// \xe9\n\xff\xfe__global__ void k() {}\n", ":2: unported: the file; bytes that"),
        ("__global__ void k() {}\n".encode("utf-16"), "bytes that are no UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "bytes that are no UTF-8"),
        (b"\xff\xfe__global__", "bytes that are no UTF-8"),
        (b"hello world\n", "it is no C++"),
    ],
)
def test_a_file_that_no_compiler_reads_fails_the_lint_with_the_reason(tmp_path, written, said):
    (tmp_path / "a.cu").write_bytes(written)
    (rung,) = port(tmp_path / "a.cu", rungs=(0,)).files[0].rungs
    assert rung.status is RungStatus.FAILED
    assert said in " ".join(rung.details)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// caf\udce9 {\nvoid f() { g(\"{\", '{', 1'000, 2'0); } /* ( */",
        'auto s = R"x(\n"{ )x"; // {\n',
        "#define OPEN {\nvoid f() OPEN }\n",
        "#ifdef A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\n",
        "#ifdef A\nextern {\n#endif\nint x;\n#ifdef A\n}\n#endif\n",
        '#include "loops.h"\nvoid f() { EACH_OF(3) g(); }); }\n',
        "#if 0\nthis isn't (code, \udce9\n#endif\nint x;\n",
        "#define F(x) \\\n  g(x /* ( */ \\\n  )\n#error don't {\nint x;\n",
    ],
)
def test_a_file_that_a_compiler_may_read_passes(text):
    assert unreadable(text) is None


def test_no_source_of_the_project_is_refused():
    texts = [program.source for program in programs()]
    texts += [path.read_text() for kind in ("*.cu", "*.cpp") for path in SOURCES.rglob(kind)]
    assert len(texts) > 100
    assert [text for text in texts if unreadable(text) is not None] == []


@pytest.mark.parametrize("text", ["", " \n", "// nothing\n/* here */\n"])
def test_an_empty_file_is_an_error(tmp_path, text):
    (tmp_path / "a.cu").write_text(text)
    with pytest.raises(UsageError, match="the file is empty"):
        port(tmp_path / "a.cu", rungs=(0,))
    (tmp_path / "b.cu").write_text("__global__ void k() {}\n")
    assert port(tmp_path, rungs=(0,)).is_done  # a project may have one


def test_a_device_file_is_not_called_a_folder():
    with pytest.raises(UsageError, match="only files and folders are ported"):
        port("/dev/null")
