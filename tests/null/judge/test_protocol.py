"""The ends of a channel between the judge and its children."""

import socket

import pytest

from kernelwright.judge.sandbox import protocol


@pytest.mark.parametrize("is_told", [False, True], ids=["silent", "unread"])
def test_a_parent_that_hangs_up_has_gone_even_if_it_left_messages_unread(is_told):
    ours, theirs = socket.socketpair()
    with theirs:
        if is_told:
            protocol.send_reply(theirs, {"ready": 1})
        ours.close()
        with pytest.raises(protocol.Closed):
            protocol.receive_request(theirs)
