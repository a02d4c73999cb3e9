"""What a child says about its outputs is checked for form before anything is read."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox import process_memory, protocol
from kernelwright.judge.sandbox.layout import flat_view, plan_slots, view
from kernelwright.judge.sandbox.outputs import ResultForm, check_claims, overlap, refuse_overlapping
from kernelwright.judge.sandbox.overlaps import extent_of, overlapping
from kernelwright.judge.screen import screen
from kernelwright.loaders.plain import nesting

LIKE = [torch.empty(4, 3)]
FORM = ResultForm(LIKE)
SOUND = [4096, [4, 3], [3, 1], "float32", "cpu"]


def changed(position, value):
    return {"tensor": [*SOUND[:position], value, *SOUND[position + 1 :]]}


def test_a_sound_claim_is_taken():
    (claim,) = check_claims({"tuple": [{"tensor": SOUND}]}, FORM, "cpu")
    assert (claim.address, claim.shape, claim.span) == (4096, (4, 3), 12)


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        (0, {"tuple": [{"tensor": SOUND}]}),
        ((0,), {"tensor": SOUND}),
        ((0, None), {"tuple": [{"tensor": SOUND}]}),
        ((0, None), {"tuple": [{"plain": None}, {"tensor": SOUND}]}),
        (((0,),), {"list": [{"tensor": SOUND}]}),
    ],
)
def test_the_result_is_nested_like_the_references(reference, reply):
    with pytest.raises(Refused, match="instead of") as refused:
        check_claims(reply, ResultForm(LIKE, nesting(reference)), "cpu")
    assert refused.value.status is Status.WRONG_SHAPE


def test_outputs_of_two_calls_that_lie_in_one_memory_are_seen():
    def claims(*addresses):
        reply = {"tuple": [changed(0, address) for address in addresses]}
        return check_claims(reply, ResultForm(LIKE * len(addresses)), "cpu")

    first = claims(4096, 8192)
    for address, is_seen in ((4096, True), (4096 + 44, True), (4096 + 48, False)):
        found = overlap(claims(address, 16384), first, LIKE * 2, but_for=[False, False])
        assert found is is_seen
    assert not overlap(claims(4096, 16384), first, LIKE * 2, but_for=[True, False])


def test_outputs_of_one_call_that_share_numbers_are_told_from_columns_of_one_table():
    table = torch.zeros(6, 8)

    def found(*tensors):
        return overlapping([extent_of(t) for t in tensors])

    assert found(table, table) == found(table[3], table) == {(0, 1)}
    assert found(table[:, :4], table[:, 4:]) == found(table[::2], table[1::2]) == set()
    assert found(table[:, :4], torch.zeros(3), table[:, 3:]) == {(0, 2)}
    assert found(table[0], table.view(torch.float64)[0, 2:]) == {(0, 1)}
    assert found(table.view(torch.float16)[:, 1::2], table.view(torch.float16)[:, ::2]) == set()
    assert found(table, table[:0], torch.zeros(0), table[0, 0].expand(3)) == {(0, 3)}


def test_outputs_of_one_call_may_share_memory_where_the_references_do():
    reply = {"tuple": [changed(0, address) for address in (4096, 4096 + 12)]}
    claims = check_claims(reply, ResultForm(LIKE * 2), "cpu")
    refuse_overlapping(claims, LIKE * 2, {(0, 1)})
    with pytest.raises(Refused, match="outputs 0 and 1") as refused:
        refuse_overlapping(claims, LIKE * 2, set())
    assert refused.value.status is Status.REJECTED


def test_a_small_output_may_be_part_of_another():
    like = [torch.empty(8, 4, 3), *LIKE]
    whole, last = changed(1, [8, 4, 3]), changed(0, 4096 + 7 * 12 * 4)
    whole["tensor"][2] = [12, 3, 1]
    claims = check_claims({"tuple": [whole, last]}, ResultForm(like), "cpu")
    (warning,) = refuse_overlapping(claims, like, set())
    assert "who writes to one changes the other" in warning.detail


def test_a_list_is_as_good_as_a_tuple():
    reply = {"list": [{"tensor": SOUND}, {"plain": None}]}
    assert len(check_claims(reply, ResultForm(LIKE, nesting((torch.ones(1), None))), "cpu")) == 1


def test_a_dictionary_has_the_same_names_and_numbers():
    reply = {"dict": {"logits": {"tensor": SOUND}, "n": {"plain": 3}}}
    for result, is_alike in (
        ({"logits": torch.ones(1), "n": 3}, True),
        ({"hidden": torch.ones(1), "n": 3}, False),
        ({"logits": torch.ones(1), "n": 4}, False),
        ((torch.ones(1), 3), False),
    ):
        form = ResultForm(LIKE, nesting(result))
        if is_alike:
            assert len(check_claims(reply, form, "cpu")) == 1
        else:
            with pytest.raises(Refused, match="its result is"):
                check_claims(reply, form, "cpu")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (changed(1, [4, 2]), Status.WRONG_SHAPE),
        (changed(3, "float16"), Status.WRONG_DTYPE),
        (changed(4, "cuda"), Status.REJECTED),
        (changed(2, [1 << 40, 1]), Status.REJECTED),
        (changed(2, [-3, 1]), Status.TAMPERED),
        (changed(0, -1), Status.TAMPERED),
        (changed(0, 1.5), Status.TAMPERED),
        (changed(0, True), Status.TAMPERED),
        (changed(1, "43"), Status.TAMPERED),
        ({"tensor": None}, Status.TAMPERED),
        ({"other": "LazyTensor"}, Status.REJECTED),
        ({"list": []}, Status.WRONG_SHAPE),
        (None, Status.REJECTED),
    ],
)
def test_any_other_claim_has_a_status(reply, status):
    with pytest.raises(Refused) as refused:
        check_claims(reply, FORM, "cpu")
    assert refused.value.status is status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["tensor", "list", "tuple", "dict", "x"]), inner)
    ),
)


@given(JSON)
def test_no_reply_makes_the_judge_fail(reply):
    with pytest.raises(Refused):
        check_claims(reply, FORM, "cpu")


def test_a_message_that_is_too_long_or_no_json_is_garbled():
    here, there = socket.socketpair()
    with here, there:
        there.sendall(protocol.LENGTH.pack(protocol.MAX_REPLY_BYTES + 1))
        with pytest.raises(protocol.Garbled):
            protocol.receive_frame(here, deadline_s=time.monotonic() + 1)
    with pytest.raises(protocol.Garbled):
        protocol.parse_reply(b"\x80\x04N.")


def test_shared_memory_keeps_strides_and_separates_tensors():
    values = [torch.rand(3, 4).t(), torch.arange(5), torch.rand(2, 1).expand(2, 6)]
    slots, end = plan_slots(values)
    memory = torch.zeros(end, dtype=torch.uint8)
    for slot, value in zip(slots, values, strict=True):
        flat_view(slot, memory).copy_(value.as_strided((slot.span_bytes // value.itemsize,), (1,)))
    for slot, value in zip(slots, values, strict=True):
        seen = view(slot, memory)
        assert torch.equal(seen, value)
        assert seen.stride() == value.stride()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class ModelNew:\n  pass", None),
        ("from other import ModelNew", None),
        ("ModelNew = make()", None),
        ("globals()['ModelNew'] = 1", None),
        ("class Other:\n  pass", "the file defines no ModelNew"),
        ("class ModelNew(:", "the file does not parse: SyntaxError"),
        ("\0", "the file does not parse"),
        ("# coding: latin-1\nclass ModelNew:\n  pass", None),
        ("# coding: utf-7\nclass ModelNew: ...\n# a+AAo-b", "the file reads otherwise in utf-7"),
        ("# coding: rot13\nclass ModelNew:\n  pass", "the file does not parse: LookupError"),
    ],
)
def test_only_what_no_run_could_change_is_screened(source, reason):
    seen = screen(Candidate(source, "torch"))
    assert seen is None if reason is None else seen.detail.startswith(reason)


def test_memory_with_two_addresses_is_told_from_memory_with_one():
    page = mmap.PAGESIZE
    file = os.memfd_create("pages")
    os.ftruncate(file, 4 * page)
    plain = mmap.mmap(-1, 4 * page)
    whole, half = mmap.mmap(file, 4 * page), mmap.mmap(file, 2 * page, offset=2 * page)

    def span(memory, first=0, last=None):
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return start + first * page, start + (last or len(memory) // page) * page

    def is_repeated(*spans):
        return process_memory.is_repeated(process_memory.mapped(os.getpid()), spans)

    assert is_repeated(span(whole), span(half))
    assert not is_repeated(span(whole, 0, 2), span(half))  # other parts of the file
    assert not is_repeated(span(whole), span(whole, 1, 3))  # views of one another
    assert not is_repeated(span(plain), span(half))
    assert not is_repeated()


def test_memory_that_may_not_be_written_to_is_told_from_memory_that_may():
    n_bytes = 4 * mmap.PAGESIZE
    plain = mmap.mmap(-1, n_bytes)
    start = ctypes.addressof(ctypes.c_char.from_buffer(plain))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def may_write(first=0, last=n_bytes):
        parts = process_memory.mapped(os.getpid())
        return process_memory.may_write(parts, [(start + first, start + last)])

    assert may_write()
    assert libc.mprotect(start + mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ) == 0
    assert not may_write()
    assert may_write(last=mmap.PAGESIZE) and may_write(first=2 * mmap.PAGESIZE)
    assert process_memory.may_write([], [(0, 0)])  # an output without elements
    libc.mprotect(start, n_bytes, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\r", "\x1c", "\x85", "\u2028"])
def test_a_files_name_cannot_forge_another_mapping(end, tmp_path):
    path = tmp_path / f"a{end}1000-2000 rw-s 00000000 00:00 0 "
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    parts = list(process_memory.mapped(os.getpid()))
    assert any(part.path == str(path) for part in parts)
    assert not any(part.start == 0x1000 for part in parts)
    memory.close()
