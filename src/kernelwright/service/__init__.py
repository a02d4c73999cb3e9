"""The service of a team: searches and verdicts over HTTP, from one archive."""
