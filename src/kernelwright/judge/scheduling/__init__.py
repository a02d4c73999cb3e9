"""Who may use a device when: locks, memory slots, the queue of builds, batches of candidates."""
