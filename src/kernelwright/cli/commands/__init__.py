"""One file for each command of the command line, imported when it is called."""
