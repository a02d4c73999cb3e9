"""The search: proposers are asked in rounds, their candidates judged, and the best one kept."""
