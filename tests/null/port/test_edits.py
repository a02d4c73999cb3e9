"""Edits of a text: what is not named stays, byte for byte."""

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.dialects.simt.lower import lower
from kernelwright.dialects.simt.source import Edit, Source, apply_edits
from kernelwright.hipify import translate


def test_edits_replace_insert_and_delete():
    text = b"one two three"
    edits = [Edit(4, 7, "2"), Edit(0, 0, "> "), Edit(7, 13, "")]
    assert apply_edits(text, edits) == b"> one 2"


def test_an_edit_inside_a_replaced_range_goes_with_it():
    assert apply_edits(b"f(mask, x)", [Edit(2, 8, ""), Edit(2, 6, "MASK")]) == b"f(x)"


@given(st.text(max_size=60), st.data())
def test_no_edit_leaves_the_text_and_an_identity_edit_too(text, data):
    raw = text.encode()
    assert apply_edits(raw, []) == raw
    at = data.draw(st.integers(0, len(text)))
    start = len(text[:at].encode())
    assert apply_edits(raw, [Edit(start, len(raw), text[at:])]) == raw


def test_bodies_of_macros_are_read_at_their_places():
    text = b"#define CHECK(x) \\\n  if ((x) != cudaSuccess) abort()\nint a;\n"
    found = [n for n in Source(text).nodes("identifier") if n.text == b"cudaSuccess"]
    assert found[0].start_byte == text.index(b"cudaSuccess")
    assert found[0].start_point[0] + 1 == 2


def test_bytes_that_are_not_text_survive_rewriting():
    """A comment in another encoding inside a launch ended the port of the whole tree."""
    assert "/* \udcf6 */" in lower("void f() { k<<<1 /* \udcf6 */, 32>>>(p); }\n")
    text = "__device__ void f(volatile int* s, int t) { s[t] /* \udcf6 */ += s[t + 16]; }\n"
    done = translate(text, implicit=False)
    assert "__syncwarp" in done.text and "/* \udcf6 */" in done.text
