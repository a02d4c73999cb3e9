"""Work in several processes, one for each slot of a CPU or for each GPU."""
