"""A forward that runs as one CUDA graph, for programs whose launches take longer than their
kernels."""

from __future__ import annotations

RUNNER = "replayed"
REPLAY = '''\
class Replay:
    """A module's forward as one CUDA graph.

    Inputs are copied into the graph's tensors and outputs are cloned out of it, so that a caller
    never holds its memory. Captured anew when a parameter or a buffer has moved or changed; what
    a replay writes to a buffer (running statistics) counts as no change, since the graph reads it.
    """

    def __init__(self):
        self.state = None

    def __call__(self, module, steps, inputs):
        if self.state is None or self.is_stale():
            self.capture(module, steps, inputs)
            self.watch(module)
        for own, given in zip(self.inputs, inputs):
            copied(given, own)
        self.graph.replay()
        return cloned(self.outputs)

    def watch(self, module):
        """Note what the module has, where its tensors lie and how often each was changed. The GPU
        waits while this is looked up again: to walk through all modules would take longer."""
        modules = list(module.modules())
        tables = [(part._parameters, part._buffers, part._modules) for part in modules]
        self.tables = [table.values() for group in tables for table in group if table]
        self.tables.append((Replay,))  # an end, which is elsewhere where parts came or went
        self.parts = [*itertools.chain.from_iterable(self.tables)]
        self.held = [*module.parameters(), *module.buffers()]
        self.state = self.versions()

    def is_stale(self):
        """Whether a part or a tensor of the module is not what it was."""
        parts = itertools.chain.from_iterable(self.tables)
        return not all(map(operator.is_, parts, self.parts)) or self.state != self.versions()

    def versions(self):
        """Where the tensors lie, and how often each was changed."""
        places = [*map(torch.Tensor.data_ptr, self.held)]
        return places, [tensor._version for tensor in self.held]

    def capture(self, module, steps, inputs):
        self.inputs = [copied(tensor) for tensor in inputs]
        buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
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


def replayed(module, steps, inputs):
    """Return ``steps(*inputs)``, run as the module's own graph for these sizes.

    Other sizes than the first call's have one from their second call on: a batch that never comes
    again is not worth a capture. In a capture of the caller's own the steps are part of it.
    """
    if torch.cuda.is_current_stream_capturing():
        return steps(*inputs)
    with _replaying:
        kept = kept_by(module)
        kept.replay = replays = kept.replay or {}
        sizes = tuple(tensor.shape for tensor in inputs)
        if sizes not in replays and len(replays) < N_REPLAYS:
            replays[sizes] = Replay()
            if len(replays) > 1:
                return steps(*inputs)
        return replays[sizes](module, steps, inputs) if sizes in replays else steps(*inputs)
'''
