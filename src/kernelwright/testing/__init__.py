"""For others' tests: conformance suites that plugins run, and the runner of a zoo."""
