"""Sharing of a device: locks, memory slots, and the queue of builds."""
