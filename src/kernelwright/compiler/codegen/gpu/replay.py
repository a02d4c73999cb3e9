"""A forward that runs as one CUDA graph, for programs whose launches take longer than their
kernels."""

from __future__ import annotations

RUNNER = "replayed"
REPLAY = '''\
class Replay:
    """A module's forward as one CUDA graph.

    Inputs are copied into the graph's tensors and outputs are cloned out of it, so that a caller
    never holds its memory. Captured anew when a weight has moved or changed; what a replay writes
    to a buffer (running statistics) counts as no change, since the graph reads it.
    """

    numbers = None

    def __call__(self, weights, steps, inputs):
        if self.numbers is None or not self.numbers.are_same():
            if any(weight.is_inference() for weight in weights):
                return steps(*inputs)  # torch does not count their changes
            self.capture(weights, steps, inputs)
            self.numbers = Numbers(weights)
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
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.outputs = steps(*self.inputs)


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


def replayed(work, steps, inputs):
    """Return ``steps(*inputs)``, run as a graph for these sizes, which is part of the ``work``.

    Other sizes than the first call's have one from their second call on: a batch that never comes
    again is not worth a capture. In a capture of the caller's own the steps are part of it.
    """
    if torch.cuda.is_current_stream_capturing():
        return steps(*inputs)
    with _replaying:
        work.replays = replays = work.replays or {}
        sizes = tuple(tensor.shape for tensor in inputs)
        if sizes not in replays and len(replays) < N_REPLAYS:
            replays[sizes] = Replay()
            if len(replays) > 1:
                return steps(*inputs)
        replay = replays.get(sizes)
        return replay(work.weights, steps, inputs) if replay else steps(*inputs)
'''
