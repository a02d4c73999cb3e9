"""How far results lie from one another, and how far they may."""
