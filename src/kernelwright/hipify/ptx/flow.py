"""Structured control flow: if, loops and, where these do not fit, goto.

The blocks of a function whose loops have one entry each are nested by the tree of dominators. A
block that several ways lead to stands behind the block that dominates it, and the exits of a loop
stand behind the loop, so that lanes meet again where NVIDIA's machine code lets them meet. Source:
Norman Ramsey, "Beyond Relooper", ICFP 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_NESTED = 60
"""Deeper nesting is written with labels: clang takes 256 levels of brackets."""


@dataclass(frozen=True)
class Condition:
    """A condition and its opposite, in C++."""

    text: str
    opposite: str

    @property
    def negated(self) -> Condition:
        return Condition(self.opposite, self.text)


@dataclass(frozen=True)
class Block:
    """Statements, and where they lead: nowhere, to one block, to one of two by a condition, or to
    one of several by a number."""

    statements: tuple[str, ...]
    targets: tuple[int, ...] = ()
    condition: Condition | None = None
    selector: str = ""


@dataclass
class If:
    condition: Condition
    yes: list[Node]
    no: list[Node]


@dataclass
class Loop:
    header: int
    body: list[Node]


@dataclass(frozen=True)
class Jump:
    """``continue``, ``break``, or a goto to a block."""

    text: str
    header: int = -1
    """The loop that continue and break are of."""


@dataclass(frozen=True)
class Mark:
    """A label."""

    block: int


Node = str | If | Loop | Jump | Mark


class _NotNestedError(Exception):
    """The flow has no structure, or too deep a one."""


def written(blocks: Sequence[Block]) -> list[str]:
    """Return the lines of a function's body, indented by its structure."""
    try:
        nodes = _Nesting(blocks).nodes()
    except (_NotNestedError, RecursionError):
        nodes = list(_flat(blocks))
    gone = {int(node.text.split("_")[-1][:-1]) for node in _jumps(nodes) if "goto" in node.text}
    gone |= {target for block in blocks if block.selector for target in block.targets}
    return list(_lines(nodes, "  ", gone))


def label(block: int) -> str:
    return f"block_{block}"


def _goto(block: int) -> Jump:
    return Jump(f"goto {label(block)};")


def _flat(blocks: Sequence[Block]) -> list[Node]:
    nodes: list[Node] = []
    for number, block in enumerate(blocks):
        nodes += [Mark(number), *block.statements]
        if block.condition is not None:
            nodes.append(If(block.condition, [_goto(block.targets[0])], []))
        if block.selector:
            nodes.append(_switch(block))
        elif block.targets and block.targets[-1] != number + 1:
            nodes.append(_goto(block.targets[-1]))
        elif not block.targets and number + 1 < len(blocks):
            nodes.append("return;") if not _returns(block) else None
    return nodes


def _returns(block: Block) -> bool:
    return bool(block.statements) and block.statements[-1].startswith(("return", "__builtin_trap"))


def _switch(block: Block) -> str:
    cases = " ".join(f"case {k}: goto {label(t)};" for k, t in enumerate(block.targets))
    return f"switch ({block.selector}) {{ {cases} }}"


@dataclass
class _Context:
    """Where code stands: the block that follows it, and the loop around it."""

    following: int | None
    header: int | None = None
    leave: int | None = None
    """The block behind the innermost loop."""
    depth: int = 0


@dataclass
class _Nesting:
    """The tree of dominators of a function, and the nesting that it gives."""

    blocks: Sequence[Block]
    order: list[int] = field(default_factory=list)
    """Blocks that are reached, in reverse postorder."""
    place: dict[int, int] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)
    loops: dict[int, set[int]] = field(default_factory=dict)
    """Headers → the blocks of their loops."""
    behind: dict[int, list[int]] = field(default_factory=dict)
    """Headers → blocks that stand behind their loops."""
    inside: dict[int, list[int]] = field(default_factory=dict)
    """Blocks → those that stand behind them, where several ways meet."""
    placed: set[int] = field(default_factory=set)
    """Blocks that are not written in the place of a jump to them."""

    def nodes(self) -> list[Node]:
        self.order, self.place = reverse_postorder(self.blocks)
        self.parent = dominators(self.blocks, self.order, self.place)
        self._find_loops()
        self._attach()
        return self._tree(0, _Context(None))

    def _dominates(self, above: int, below: int) -> bool:
        while self.place[below] > self.place[above]:
            below = self.parent[below]
        return below == above

    def _find_loops(self) -> None:
        before: dict[int, list[int]] = {b: [] for b in self.order}
        for block in self.order:
            for target in self.blocks[block].targets:
                before[target].append(block)
        for block in self.order:
            for target in self.blocks[block].targets:
                if self.place[target] > self.place[block]:
                    continue
                if not self._dominates(target, block):
                    raise _NotNestedError
                body, left = self.loops.setdefault(target, {target}), [block]
                while left:
                    now = left.pop()
                    if now not in body:
                        body.add(now)
                        left += before[now]

    def _attach(self) -> None:
        """Choose where each block stands that is not written in the place of a jump to it."""
        ways = dict.fromkeys(self.order, 0)
        for block in self.order:
            for target in self.blocks[block].targets:
                ways[target] += self.place[target] > self.place[block]
                ways[target] += bool(self.blocks[block].selector)
        headers = sorted(self.loops, key=self.place.__getitem__)
        for block in self.order[1:]:
            above = self.parent[block]
            left = next(
                (h for h in headers if above in self.loops[h] and block not in self.loops[h]), None
            )
            if left is not None:
                self.behind.setdefault(left, []).append(block)
            elif ways[block] > 1:
                self.inside.setdefault(above, []).append(block)
            else:
                continue
            self.placed.add(block)

    def _tree(self, block: int, at: _Context) -> list[Node]:
        if at.depth > MOST_NESTED:
            raise _NotNestedError
        behind = self.behind.get(block, [])
        after = behind[0] if behind else at.following
        nodes: list[Node]
        if block in self.loops:
            around = _Context(block, block, after, at.depth + 1)
            nodes = [Mark(block), Loop(block, self._sequence(block, around))]
        else:
            here = _Context(after, at.header, at.leave, at.depth)
            nodes = self._sequence(block, here)
        return nodes + self._following(behind, at)

    def _sequence(self, block: int, at: _Context) -> list[Node]:
        inside = self.inside.get(block, [])
        first = inside[0] if inside else at.following
        here = _Context(first, at.header, at.leave, at.depth)
        now = self.blocks[block]
        nodes: list[Node] = [*now.statements]
        if now.selector:
            nodes.append(_switch(now))
        elif now.condition is not None:
            deeper = _Context(first, at.header, at.leave, at.depth + 1)
            yes, no = (self._way(block, target, deeper) for target in now.targets)
            nodes += _chosen(now.condition, yes, no)
        elif now.targets:
            nodes += self._way(block, now.targets[0], here)
        elif not _returns(now) and first is not None:
            nodes.append("return;")
        return nodes + self._following(inside, at)

    def _following(self, blocks: list[int], at: _Context) -> list[Node]:
        nodes: list[Node] = []
        for k, block in enumerate(blocks):
            after = blocks[k + 1] if k + 1 < len(blocks) else at.following
            here = _Context(after, at.header, at.leave, at.depth)
            nodes += [Mark(block), *self._tree(block, here)]
        return nodes

    def _way(self, source: int, target: int, at: _Context) -> list[Node]:
        """Return the code of a jump: nothing if the target follows, or the target itself."""
        if target == at.following:
            return []
        if at.header is not None and target == at.header:
            return [Jump("continue;", at.header)]
        if at.header is not None and target == at.leave:
            return [Jump("break;", at.header)]
        if target in self.placed or self.place[target] <= self.place[source]:
            return [_goto(target)]
        return self._tree(target, at)


def reverse_postorder(blocks: Sequence[Block]) -> tuple[list[int], dict[int, int]]:
    """Return the blocks that are reached in reverse postorder, and the place of each in it."""
    seen, done = {0}, []
    stack = [(0, iter(blocks[0].targets))]
    while stack:
        block, left = stack[-1]
        target = next(left, None)
        if target is None:
            done.append(block)
            stack.pop()
        elif target not in seen:
            seen.add(target)
            stack.append((target, iter(blocks[target].targets)))
    order = done[::-1]
    return order, {block: k for k, block in enumerate(order)}


def dominators(
    blocks: Sequence[Block], order: Sequence[int], place: dict[int, int]
) -> dict[int, int]:
    """Return each block's immediate dominator; the first block's is itself.

    Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for target in blocks[block].targets:
            before[target].append(block)
    parent = {0: 0}
    is_changed = True
    while is_changed:
        is_changed = False
        for block in order[1:]:
            known = [b for b in before[block] if b in parent]
            new = known[0]
            for other in known[1:]:
                while new != other:
                    if place[new] > place[other]:
                        new = parent[new]
                    else:
                        other = parent[other]
            if parent.get(block) != new:
                parent[block] = new
                is_changed = True
    return parent


def _leaves(nodes: Sequence[Node]) -> bool:
    """Return whether nothing is executed behind these nodes."""
    last = nodes[-1] if nodes else ""
    if isinstance(last, If):
        return bool(last.no) and _leaves(last.yes) and _leaves(last.no)
    return isinstance(last, Jump) or (isinstance(last, str) and last.startswith("return"))


def _chosen(condition: Condition, yes: list[Node], no: list[Node]) -> list[Node]:
    if not yes and not no:
        return []
    if not yes:
        return [If(condition.negated, no, [])]
    if no and _leaves(yes):
        return [If(condition, yes, []), *no]
    if no and _leaves(no):
        return [If(condition.negated, no, []), *yes]
    return [If(condition, yes, no)]


def _jumps(nodes: Sequence[Node]) -> list[Jump]:
    found = []
    for node in nodes:
        if isinstance(node, Jump):
            found.append(node)
        elif isinstance(node, If):
            found += [*_jumps(node.yes), *_jumps(node.no)]
        elif isinstance(node, Loop):
            found += _jumps(node.body)
    return found


def _lines(nodes: Sequence[Node], indent: str, gone: set[int]) -> list[str]:
    lines: list[str] = []
    for node in nodes:
        if isinstance(node, Mark):
            lines += [f"{label(node.block)}:;"] if node.block in gone else []
            gone = gone - {node.block}  # a loop's label may be marked where its header stands
        elif isinstance(node, str):
            lines += [indent + line for line in node.splitlines()]
        elif isinstance(node, Jump):
            lines.append(indent + node.text)
        elif isinstance(node, Loop):
            lines += _loop_lines(node, indent, gone)
        else:
            lines += _if_lines(node, indent, gone)
    return lines


def _if_lines(node: If, indent: str, gone: set[int]) -> list[str]:
    lines = [f"{indent}if ({node.condition.text}) {{", *_lines(node.yes, indent + "  ", gone)]
    rest = node.no
    while len(rest) == 1 and isinstance(rest[0], If):
        other = rest[0]
        lines.append(f"{indent}}} else if ({other.condition.text}) {{")
        lines += _lines(other.yes, indent + "  ", gone)
        rest = other.no
    if rest:
        lines += [f"{indent}}} else {{", *_lines(rest, indent + "  ", gone)]
    if len(lines) == 2 and not rest and "\n" not in lines[1]:
        return [f"{lines[0][:-2]} {lines[1].strip()}"]
    return [*lines, f"{indent}}}"]


def _loop_lines(node: Loop, indent: str, gone: set[int]) -> list[str]:
    last = node.body[-1] if node.body else None
    rest = node.body[:-1]
    is_left = isinstance(last, If) and last.yes == [Jump("break;", node.header)] and not last.no
    others = [jump for jump in _jumps(rest) if jump == Jump("continue;", node.header)]
    if is_left and not others and isinstance(last, If):
        condition = last.condition.opposite
        inner = _lines(rest, indent + "  ", gone)
        return [f"{indent}do {{", *inner, f"{indent}}} while ({condition});"]
    return [f"{indent}for (;;) {{", *_lines(node.body, indent + "  ", gone), f"{indent}}}"]
