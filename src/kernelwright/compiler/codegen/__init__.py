"""Emitters: from a program to the text of a dialect, a folder for each."""
