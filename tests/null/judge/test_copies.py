"""A library's code is known wherever it lies; what it is told from is not taken for it."""

import ctypes
import os

import pytest

from kernelwright.judge.kinds import copies
from kernelwright.judge.kinds.sampling import LIBRARY, OWN, Span, extents, own_pages, spans
from kernelwright.judge.sandbox.process_memory import Mapped

PAGE = 4096


@pytest.fixture
def known(tmp_path):
    """Of a library of 64 pages, and its code."""
    code = os.urandom(64 * PAGE)
    (tmp_path / "library.so").write_bytes(code)
    known = copies.Known()
    known.add(str(tmp_path / "library.so"))
    return known, code


@pytest.mark.parametrize("shift", [0, 16, 37, PAGE // 2])
def test_a_page_of_a_library_is_known_wherever_it_begins(known, shift):
    known, code = known
    assert known.is_copied(code[9 * PAGE + shift :][:PAGE])


def test_half_a_page_beside_padding_is_enough_and_a_few_functions_in_own_code_are_not(known):
    known, code = known
    assert known.is_copied(code[: PAGE // 2] + b"\xcc" * (PAGE // 2))
    assert not known.is_copied(code[: PAGE // 4] + os.urandom(PAGE - PAGE // 4))


@pytest.mark.parametrize("page", [b"\0" * PAGE, b"\x90" * PAGE, os.urandom(PAGE)])
def test_padding_and_other_code_are_nobodys_copy(known, page):
    known, _ = known
    assert not known.is_copied(page)


def test_the_share_is_of_pages_and_files_that_are_gone_say_nothing(known, tmp_path):
    _, code = known
    files = {str(tmp_path / "library.so"), str(tmp_path / "none.so")}
    pages = [code[:PAGE], os.urandom(PAGE), code[PAGE : 2 * PAGE], os.urandom(PAGE)]
    assert copies.share(pages, files) == 0.5
    assert copies.share([], files) == 0.0


def part(start, offset, path, rights="r-xp"):
    return Mapped(start * PAGE, (start + 2) * PAGE, rights, offset * PAGE, ("fe:00", "7"), path)


def test_what_is_mapped_over_a_second_mapping_of_a_library_is_the_librarys():
    blas = "/usr/lib/libopenblas.so"
    parts = [
        part(10, 0, blas), part(12, 0, "/tmp/k.so"), part(14, 4, blas), part(16, 0, "/tmp/k.so"),
    ]  # fmt: skip
    assert [span.owner for span in spans(parts)] == [LIBRARY, LIBRARY, LIBRARY, OWN]
    # Two mappings of one file are apart, and what lies between them is nobody's but its owner's.
    parts = [part(10, 0, blas), part(12, 0, "/tmp/k.so"), part(14, 0, blas)]
    assert [span.owner for span in spans(parts)] == [LIBRARY, OWN, LIBRARY]
    assert len(extents(parts)) == 3


def test_the_pages_are_those_of_own_code_that_threads_run():
    code = os.urandom(PAGE)
    memory = bytearray(b"\0" * PAGE + code + b"\0" * PAGE)
    at = (ctypes.addressof(ctypes.c_char.from_buffer(memory)) + PAGE - 1) // PAGE * PAGE
    own, other = Span(at, at + PAGE, OWN), Span(at + PAGE, at + 2 * PAGE, LIBRARY)
    (page,) = own_pages(os.getpid(), [at + 5, at + PAGE + 5, 1], [own, other])
    assert len(page) == PAGE and page[:64] in memory
