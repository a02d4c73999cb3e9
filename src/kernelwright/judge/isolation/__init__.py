"""How a process is confined: namespaces, Landlock, seccomp, limits, and what /proc tells of it."""
