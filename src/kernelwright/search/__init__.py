"""The search: proposers asked in rounds, what they write judged, and the best one kept."""
