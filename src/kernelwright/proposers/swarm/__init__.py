"""The swarm proposer: language models propose, the judge decides."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.errors import UsageError


class SwarmProposer:
    """Asks several models at once, each with its own part of the context."""

    name = "swarm"

    def check(self, brief: Brief) -> None:
        """See that there are models, that they have keys, and that money limits have prices.

        Raises:
            UsageError: no model, an unknown part of the context, a price that is missing, or a
                file that cannot be attached.
            ProposerError: a package or a key is missing.
        """
        from kernelwright.llm import attached
        from kernelwright.llm.endpoint import open_endpoint
        from kernelwright.llm.ledger import parse_prices, price_of
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
                    f"a budget in USD, and no price of {name}",
                    seen=f"prices of {', '.join(prices) or 'no model'}",
                    do=f"add --price {name}=IN/OUT, in USD per million tokens",
                )

    def shares(self, brief: Brief) -> bool:
        """Whether a model runs on this machine: it would slow what the judge measures."""
        from kernelwright.llm.endpoint import parse

        return any(parse(name).is_local for name in brief.models)

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """One round: every call as it ends, and what it proposes after it.

        Not the same for the same brief, since models are not. A run begins with what the answers
        of earlier runs propose that has no verdict yet; they are not paid for again.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        from kernelwright.proposers.swarm.round import Round, unjudged

        if not any(call.id >= brief.since for call in brief.calls):
            yield from unjudged(brief)
        yield from Round(brief).items()
