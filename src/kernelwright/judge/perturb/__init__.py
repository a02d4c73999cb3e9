"""What a call gets: drawn in secret, varied where a task gives the same, beyond its own."""
