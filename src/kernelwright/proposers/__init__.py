"""Proposers: who writes candidates. Rules, models, translations, and what torch.compile writes."""
