"""A child with a module whose forward does what it is told, for tests of what one may do."""

import pickle


def begin(zygote, source, setting=None, **how):
    """A child in which ``ModelNew`` of this source is ready to be called."""
    child = zygote.fork(**how)
    program = {"source": source, "entry": "ModelNew", "initial": pickle.dumps([]), "seed": 0}
    assert "error" not in child.request("build", weights={}, setting=setting or {}, **program)
    return child


def call(child, what):
    """What it replies to a call with ``what``."""
    child.request("prepare", arguments=[what])
    child.stop()
    return child.call(timeout_s=20).reply
