"""A forward that runs as one CUDA graph, for programs whose launches take longer than their
kernels."""

from __future__ import annotations

RUNNER, BEGINNER = "replayed", "begun"
REPLAY = '''\
class Replay:
    """A module's forward as one CUDA graph.

    Inputs are copied into the graph's tensors and outputs are cloned out of it, so that a caller
    never holds its memory. Captured anew when a weight has moved or changed; what a replay writes
    to a buffer (running statistics) counts as no change, since the graph reads it.
    """

    numbers = None

    def __call__(self, work, steps, inputs):
        if self.numbers is None or not self.numbers.are_same():
            if any(weight.is_inference() for weight in work.weights):
                return steps(*inputs)  # torch does not count their changes
            self.capture(work.weights, steps, inputs)
            self.forms, self.made = form_guards(inputs), work.made
            self.numbers = Numbers(work.weights)
        return self.run(inputs)

    def can_begin(self, work, inputs):
        """Whether it can run before anybody has looked at the weights: inputs are of the same form,
        in the same of torch's modes, and all memory that it reads is still there."""
        is_there = self.numbers and not self.numbers.freed and self.made is work.made
        return is_there and self.forms.check(*inputs)

    def run(self, inputs):
        for own, given in zip(self.inputs, inputs):
            copied(given, own)
        self.graph.replay()
        return cloned(self.outputs)

    def capture(self, weights, steps, inputs):
        self.inputs = [copied(tensor) for tensor in inputs]
        buffers = [(w, w.clone()) for w in weights if not isinstance(w, torch.nn.Parameter)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # compiles kernels and makes library handles first
            for _ in range(2):
                steps(*self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        for buffer, value in buffers:  # own kernels write to buffers without torch's counting it
            if not torch.equal(buffer, value):
                buffer.copy_(value)
        self.graph = torch.cuda.CUDAGraph()
        collects = gc.isenabled()
        gc.disable()  # an older graph that the collector destroys here would end the capture
        try:
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.outputs = steps(*self.inputs)
        finally:
            if collects:
                gc.enable()


def copied(given, own=None):
    """A copy of a tensor with its strides, which kernels count on; in ``own``, where that is one.
    Of a slice, or of what is expanded, all memory from the first to the last element is copied."""
    if own is None:
        form = given.shape, given.stride()
        own = torch.empty_strided(*form, dtype=given.dtype, device=given.device)
    if given.is_contiguous():
        return own.copy_(given)
    n_spanned = 1 + sum((n - 1) * step for n, step in zip(given.shape, given.stride()))
    own.as_strided((n_spanned,), (1,)).copy_(given.as_strided((n_spanned,), (1,)))
    return own


def cloned(value):
    """A copy of a structure of tensors."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(map(cloned, value))
    if fields := getattr(value, "__dataclass_fields__", ()):  # as transformers' results
        return type(value)(**{name: cloned(getattr(value, name)) for name in fields})
    if isinstance(value, dict):
        return type(value)((key, cloned(part)) for key, part in value.items())
    return type(value)(*map(cloned, value)) if hasattr(value, "_fields") else value


N_REPLAYS = 8  # of one module; each holds its own memory
_replaying = threading.Lock()  # a graph has one set of inputs, and captures exclude each other


def sizes_of(inputs):
    """The shapes of the inputs; None for what is no tensor."""
    return tuple([getattr(value, "shape", None) for value in inputs])


def begun(described, module, inputs):
    """The graph of an earlier call like this one, and its result; None where there is no such.

    The GPU computes while the CPU looks whether the module is as it was then. If it is not, nobody
    sees the result.
    """
    if is_dynamo_compiling() or torch.cuda.is_current_stream_capturing():
        return None
    kept = module.__dict__.get("_kept")
    look = kept and kept.looks.get(described)
    if not look or not look.work or look.reason or (look.wanting and torch.is_grad_enabled()):
        return None
    with _replaying:
        replay = (look.work.replays or {}).get(sizes_of(inputs))
        can_begin = replay and replay.can_begin(look.work, inputs)
        return (replay, replay.run(inputs)) if can_begin else None


def replayed(work, steps, inputs, early=None):
    """Return ``steps(*inputs)``, run as a graph for these sizes, which is part of the ``work``, or
    the result that was ``begun`` early if it still holds.

    Other sizes than the first call's have one from their second call on: a batch that never comes
    again is not worth a capture. In a capture of the caller's own the steps are part of it.
    """
    if torch.cuda.is_current_stream_capturing():
        return steps(*inputs)
    with _replaying:
        work.replays = replays = work.replays or {}
        sizes = sizes_of(inputs)
        if sizes not in replays and len(replays) < N_REPLAYS:
            replays[sizes] = Replay()
            if len(replays) > 1:
                return steps(*inputs)
        replay = replays.get(sizes)
        if early and early[0] is replay and replay.numbers.are_same():
            return early[1]
        return replay(work, steps, inputs) if replay else steps(*inputs)
'''
