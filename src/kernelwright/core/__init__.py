"""The nouns, and what all else imports: settings, errors, plugins. Imports nothing above it."""
