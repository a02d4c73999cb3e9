"""Emitters turn a program into the text of a dialect; each dialect has a folder."""
