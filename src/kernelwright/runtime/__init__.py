"""What a result becomes in the user's own process: a module that runs its kernels."""
