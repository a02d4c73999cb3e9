"""Sharing of a device: locks, memory slots, the queue of builds, batches of candidates."""
