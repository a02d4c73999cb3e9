"""The swarm proposer: language models propose, the judge decides."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.errors import UsageError


class SwarmProposer:
    """Asks several models at once; the context that a prompt shows varies."""

    name = "swarm"

    def check(self, brief: Brief) -> None:
        """Check that there are models with keys, and prices if the money is limited.

        Raises:
            UsageError: there is no model, a part of the context is unknown, a price is missing, or
                a file cannot be attached.
            ProposerError: a package or a key is missing.
        """
        from kernelwright.llm import attached
        from kernelwright.llm.ledger import parse_prices, price_of
        from kernelwright.llm.opening import open_endpoint
        from kernelwright.proposers.swarm.context import parse_contexts

        if not brief.models:
            raise UsageError(
                "the swarm has no model to ask",
                seen="no --model",
                do="add --model http://localhost:8000/v1#NAME, --model openai:NAME, …",
            )
        parse_contexts(brief.contexts)
        attached.check(brief.attached)
        prices = parse_prices(brief.prices)
        for name in brief.models:
            open_endpoint(name)
            if brief.budget_usd is not None and price_of(name, prices) is None:
                raise UsageError(
                    f"a budget in USD is given, but no price of {name}",
                    seen=f"prices of {', '.join(prices) or 'no model'}",
                    do=f"add --price {name}=IN/OUT, in USD per million tokens",
                )

    def shares(self, brief: Brief) -> bool:
        """Whether a model runs on this machine, where it would disturb the judge's timing."""
        from kernelwright.llm.endpoint import parse

        return any(parse(name).is_local for name in brief.models)

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """Run one round: yield every call as it ends, followed by its proposal.

        The same brief may give different proposals, because models vary. A run begins with the
        proposals of earlier runs' answers that have no verdict yet; they are not paid for again.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        from kernelwright.proposers.swarm.round import Round, unjudged

        if not any(call.id >= brief.since for call in brief.calls):
            yield from unjudged(brief)
        yield from Round(brief).items()
