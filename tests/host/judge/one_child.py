"""A child with a module whose forward does what it is told, for tests of what one may do."""

import pickle

from kernelwright.judge.sandbox.child import CallOptions
from kernelwright.judge.sandbox.isolation import ChildOptions
from kernelwright.judge.sandbox.program import Program


def program(source, setup=None):
    """The program whose ``ModelNew`` is constructed without arguments."""
    return Program(source, "ModelNew", pickle.dumps([]), seed=0, setup=setup)


def begin(server, source, setup=None, options=ChildOptions()):  # noqa: B008 - it is frozen
    """A child in which ``ModelNew`` of this source is ready to be called."""
    child = server.fork(options)
    reply = child.request("build", weights={}, program=program(source, setup))
    assert "error" not in reply, reply
    return child


def call(child, what):
    """The reply to a call with ``what``."""
    child.request("prepare", arguments=[what])
    child.stop()
    return child.call(CallOptions(20)).reply
