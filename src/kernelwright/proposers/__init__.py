"""Proposers write candidates: rewrite rules, language models, translations, and TorchInductor."""
