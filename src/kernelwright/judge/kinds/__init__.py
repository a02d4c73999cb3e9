"""The kind of a win: whether own code or a library's ran during a candidate's calls."""
