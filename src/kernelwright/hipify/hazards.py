"""Constructs that would compile for AMD and then compute something else, found by their
structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee, enclosing
from kernelwright.hipify.calls import Change
from kernelwright.hipify.cub import cub_changes
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.warp_size import (
    is_device_property,
    warp_size_changes,
    width_query_changes,
)

LDS_BYTES = 65536
"""Shared memory in bytes per block on gfx90a, gfx942 and gfx1100 (AMD CDNA 2/3 and RDNA 3 ISA
guides)."""
STAND_IN_ARCH = 700
"""Value that replaces `__CUDA_ARCH__` in comparisons: features up to sm_70 exist in HIP or in
`functions.toml`."""
BLAS_MODES = {
    **dict.fromkeys(
        (
            "CUBLAS_TENSOR_OP_MATH",
            "CUBLAS_TF32_TENSOR_OP_MATH",
            "CUBLAS_PEDANTIC_MATH",
            "CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION",
        ),
        "HIPBLAS_DEFAULT_MATH",
    ),
    **{
        f"CUBLAS_COMPUTE_{kind}_{way}": f"HIPBLAS_COMPUTE_{kind}"
        for kind in ("16F", "32F", "64F", "32I")
        for way in ("PEDANTIC", "FAST_16F", "FAST_16BF", "FAST_TF32")
    },
}
"""Modes that hipBLAS declares, but answers with HIPBLAS_STATUS_NOT_SUPPORTED. Source: hipblas.cpp
of ROCm 6.3, amd_detail: hipblasGetRocblasMathMode and the conversions of the types of
hipblasGemmEx."""
CAPABILITIES = (
    "cudaDevAttrComputeCapabilityMajor", "cudaDevAttrComputeCapabilityMinor",
    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "cuDeviceComputeCapability",
)  # fmt: skip
DEVICE = ("__global__", "__device__")
_WAITS = re.compile(r"[\s;{}]*|\s*\{?\s*(__nanosleep|__builtin_amdgcn_s_sleep)\([^)]*\);\s*\}?")
"""The body of a loop that only waits."""
_NAMES = ("identifier", "field_identifier")


def hazard_changes(source: Source, own: frozenset[str]) -> Iterator[Change]:
    """Yield every hazard of a CUDA file, with its repair if there is one."""
    yield from warp_size_changes(source, own)
    yield from cub_changes(source, own)
    for rule in (
        _wave_arithmetic,
        launch_bounds_changes,
        _arch_macros,
        _wmma,
        width_query_changes,
        _child_launches,
        _spin_locks,
        _shared_limits,
        _device_output,
        _float_atomics,
        _mixed_signs,
        _capabilities,
        _blas_modes,
    ):
        for change in rule(source):
            if change.finding.construct not in own:
                yield change


def in_device_code(source: Source, node: Any) -> bool:
    """Return whether the node is in a function marked ``__global__`` or ``__device__``."""
    function = enclosing(node, "function_definition")
    if function is None:
        return False
    body = function.child_by_field_name("body")
    head = source.text[function.start_byte : body.start_byte if body else function.end_byte]
    return any(mark.encode() in head for mark in DEVICE)


WAVE = {("%", "32"), ("/", "32"), ("&", "31"), ("&", "0x1f"), (">>", "5"), ("<<", "5"), ("*", "32")}


def _wave_arithmetic(source: Source) -> Iterator[Change]:
    lanes = re.compile(r"threadIdx|\btid\b|lane|warp|\bt[id]?x\b", re.IGNORECASE)
    for node in source.nodes("binary_expression"):
        operator = node.child_by_field_name("operator")
        right = node.child_by_field_name("right")
        if operator is None or right is None or not in_device_code(source, node):
            continue
        number = source.text_of(right).rstrip("uUlL").lower()
        if (source.text_of(operator), number) not in WAVE:
            continue
        if lanes.search(source.text_of(node)):
            text = source.text_of(node)
            reason = "it assumes 32 lanes, which the port keeps: its warp operations work on 32"
            yield Change(Finding(source.line(node), State.TRANSLATED, text, text, reason))


def launch_bounds_changes(source: Source) -> Iterator[Change]:
    """Yield second launch bounds, which mean something else on the other side, and are left out."""
    for node in source.nodes("launch_bounds"):
        values = node.named_children
        if len(values) < 2:
            continue
        edit = Edit(values[0].end_byte, values[-1].end_byte, "")
        found = Finding(
            source.line(node),
            State.CHANGED,
            "__launch_bounds__",
            reason="the second bound is blocks per multiprocessor in CUDA, waves per EU in HIP",
            advice="the first bound is kept; tune occupancy on the new target",
        )
        yield Change(found, (edit,))


def _arch_macros(source: Source) -> Iterator[Change]:
    values = {
        "__CUDA_ARCH__": f"(__HIP_DEVICE_COMPILE__ * {STAND_IN_ARCH})",
        "CUDART_VERSION": "12000",
        "CUDA_VERSION": "12000",
        "__CUDACC_VER_MAJOR__": "12",
    }
    for node in source.nodes("identifier"):
        name = source.text_of(node)
        if name not in values:
            continue
        defined = node.parent.type in ("preproc_defined", "preproc_ifdef") or (
            node.parent.type == "preproc_call"
        )
        became = values[name]
        if name == "__CUDA_ARCH__" and defined:
            became = "__HIP_DEVICE_COMPILE__"
        elif defined:
            became = "__HIP__"
        found = Finding(
            source.line(node),
            State.CHANGED,
            name,
            became,
            "AMD targets have no compute capability or CUDA version",
            f"conditions are evaluated as for sm_{STAND_IN_ARCH // 10}; check both branches",
        )
        yield Change(found, (Edit(node.start_byte, node.end_byte, became),), at=node.start_byte)


def _wmma(source: Source) -> Iterator[Change]:
    """Yield WMMA code, which the port writes out on 32 lanes. rocWMMA's tiles have as many lanes as
    the wave, and fewer shapes, so that renaming would compute something else at 64 lanes."""
    for node in source.nodes("namespace_identifier", "identifier"):
        if source.text_of(node) != "nvcuda":
            continue
        edit = Edit(node.start_byte, node.end_byte, "port_nvcuda")
        found = Finding(
            source.line(node),
            State.REPAIRED,
            "nvcuda::wmma",
            "port_nvcuda::wmma",
            "a tile of rocWMMA belongs to a wave, which has 64 lanes on most AMD targets: written "
            "out on 32 lanes, without matrix cores, and slow",
            "for speed use rocwmma with a wave of 64 threads per tile and 16x16x16 fragments",
        )
        yield Change(found, (edit,), ("wmma",), at=node.start_byte)
    for call in source.nodes("call_expression"):
        name = callee(source, call)
        if name == "bmma_sync" or (name == "mma_sync" and len(arguments(call)) > 4):
            why = "tiles of single bits" if name == "bmma_sync" else "sums that saturate"
            found = Finding(
                source.line(call),
                State.UNPORTED,
                name,
                reason=f"no rule for {why}",
                advice="write the product as a loop on AMD",
            )
            yield Change(found)


def _child_launches(source: Source) -> Iterator[Change]:
    for node in source.nodes("kernel_call_syntax"):
        if in_device_code(source, node):
            found = Finding(
                source.line(node),
                State.UNPORTED,
                "launch from device code",
                reason="HIP has no dynamic parallelism",
                advice="launch from the host, or loop inside the kernel",
            )
            yield Change(found)


def spin_loops(source: Source) -> Iterator[Any]:
    """Yield the loops of device code that take a lock and do nothing else: an atomic exchange in
    the condition, and a body that only waits."""
    for node in source.nodes("while_statement", "do_statement", "for_statement"):
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if condition is None or body is None or not in_device_code(source, node):
            continue
        takes = re.search(r"atomic(CAS|Exch)", source.text_of(condition))
        if takes and _WAITS.fullmatch(source.text_of(body)):
            yield node


def _spin_locks(source: Source) -> Iterator[Change]:
    for node in spin_loops(source):
        found = Finding(
            source.line(node),
            State.CHANGED,
            "spin lock",
            reason="lanes of one wavefront do not progress independently: two lanes that want "
            "the lock may wait for each other forever",
            advice="let one lane of a wavefront take the lock, or release it inside the loop",
        )
        yield Change(found)


def _shared_limits(source: Source) -> Iterator[Change]:
    for call in source.nodes("call_expression"):
        if callee(source, call) != "cudaFuncSetAttribute":
            continue
        given = [source.text_of(a) for a in arguments(call)]
        if len(given) < 3 or not given[1].endswith("MaxDynamicSharedMemorySize"):
            continue
        literal = re.fullmatch(r"(\d+)(?:\s*\*\s*(\d+))?", given[2].strip("() "))
        size = int(literal[1]) * int(literal[2] or 1) if literal else None
        if size is not None and size <= LDS_BYTES:
            continue
        found = Finding(
            source.line(call),
            State.UNPORTED if size else State.CHANGED,
            "dynamic shared memory",
            reason=f"AMD targets have {LDS_BYTES} bytes per block, this needs {size or given[2]}",
            advice="use smaller tiles on AMD",
        )
        yield Change(found)


def _device_output(source: Source) -> Iterator[Change]:
    for call in source.nodes("call_expression"):
        name = callee(source, call)
        if name in ("printf", "assert") and in_device_code(source, call):
            reason = (
                "the order of lines from several threads differs"
                if name == "printf"
                else ("a failed assertion aborts the process with another message")
            )
            yield Change(Finding(source.line(call), State.TRANSLATED, name, name, reason))


def _float_atomics(source: Source) -> Iterator[Change]:
    for call in source.nodes("call_expression"):
        if callee(source, call) != "atomicAdd" or len(arguments(call)) != 2:
            continue
        value = source.text_of(arguments(call)[1])
        function = enclosing(call, "function_definition")
        text = source.text_of(function) if function is not None else ""
        floats = re.search(rf"\b(float|double|half)\b[^;(){{}}]*\b{re.escape(value)}\b", text)
        if re.search(r"\d\.\d*f?\b", value) or floats:
            yield Change(
                Finding(
                    source.line(call),
                    State.TRANSLATED,
                    "atomicAdd",
                    "atomicAdd",
                    "floating-point sums depend on the order of the threads; on fine-grained "
                    "memory AMD's hardware atomics may be ignored",
                )
            )


def _capabilities(source: Source) -> Iterator[Change]:
    """Yield host code that queries the compute capability, usually to choose a kernel."""
    asked = [node for node in source.nodes("identifier") if source.text_of(node) in CAPABILITIES]
    asked += [
        node
        for node in source.nodes("field_identifier")
        if source.text_of(node) in ("major", "minor")
        and node.parent.type == "field_expression"
        and is_device_property(source, node.parent)
    ]
    for node in asked:
        found = Finding(
            source.line(node),
            State.CHANGED,
            source.text_of(node),
            source.text_of(node),
            "it is the AMD architecture's version (9.4 for gfx942); device code is compiled as "
            f"for {STAND_IN_ARCH / 100}, so that an empty kernel for 8.0 may be chosen",
            "decide by the device's properties, or by gcnArchName",
        )
        yield Change(found)


def _blas_modes(source: Source) -> Iterator[Change]:
    """Yield modes that are set or passed; hipBLASLt accepts the types that hipBLAS refuses."""
    uses_lt = b"cublasLt" in source.text
    for node in source.nodes("identifier"):
        name = source.text_of(node)
        is_compared = node.parent.type == "case_statement" or (
            node.parent.type == "binary_expression"
            and source.text_of(node.parent.child_by_field_name("operator")) in ("==", "!=")
        )
        if name not in BLAS_MODES or is_compared or (uses_lt and "COMPUTE" in name):
            continue
        edit = Edit(node.start_byte, node.end_byte, BLAS_MODES[name])
        found = Finding(
            source.line(node),
            State.CHANGED,
            name,
            BLAS_MODES[name],
            "hipBLAS refuses it on AMD; its own mode has at least the precision of the fast ones",
        )
        yield Change(found, (edit,), at=node.start_byte)


_UNSIGNED = re.compile(r"(block|thread|grid)(Dim|Idx)\b|unsigned|size_t|sizeof|\d[uU]|\buint\w*")
_UNSIGNED_TYPE = re.compile(r"\bunsigned\b|\bsize_t\b|\buint\w*|\bu(char|short|long)\w*")


def _without_sign(source: Source) -> frozenset[str]:
    """Return the variables, parameters and members that the file declares as unsigned."""
    found = set()
    for node in source.nodes("declaration", "parameter_declaration", "field_declaration"):
        kind = node.child_by_field_name("type")
        if kind is None or not _UNSIGNED_TYPE.search(source.text_of(kind)):
            continue
        for declarator in node.children_by_field_name("declarator"):
            while declarator.type not in _NAMES and declarator.named_children:
                inner = declarator.child_by_field_name("declarator")
                declarator = inner or declarator.named_children[0]
            found.add(source.text_of(declarator))
    return frozenset(found)


def _mixed_signs(source: Source) -> Iterator[Change]:
    """Yield min and max of a signed and an unsigned integer: CUDA has overloads, HIP uses double.

    Source: clang's __clang_hip_cmath.h, __HIP_OVERLOAD2(double, min).
    """
    declared = _without_sign(source)
    for call in source.nodes("call_expression"):
        name, given = callee(source, call), [source.text_of(a) for a in arguments(call)]
        if name not in ("min", "max") or len(given) != 2 or not in_device_code(source, call):
            continue
        if "::" in source.text_of(call.child_by_field_name("function")).removeprefix("::"):
            continue
        if set(given) <= declared:  # both are unsigned
            continue
        if any(_UNSIGNED.search(t) or declared & set(re.findall(r"\w+", t)) for t in given):
            reason = (
                "HIP's overload for signed and unsigned integers is a double; overloads are added"
            )
            found = Finding(source.line(call), State.REPAIRED, name, name, reason)
            yield Change(found, (), ("mixed_signs",))
