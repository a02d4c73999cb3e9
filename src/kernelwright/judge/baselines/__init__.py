"""The library settings that candidates are measured against, and the processes that run them."""
