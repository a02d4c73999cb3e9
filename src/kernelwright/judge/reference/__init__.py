"""The reference: its profile, its inputs, and what it returns in float64."""
