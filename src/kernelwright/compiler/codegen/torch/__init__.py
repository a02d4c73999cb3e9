"""Library calls, run as they are or by torch.compile."""
