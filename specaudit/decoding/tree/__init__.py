"""Draft trees: several continuations are drafted at once, and the target reads them all in one pass."""
