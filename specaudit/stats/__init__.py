"""Arrays in, result objects out: the statistics of an audit, which know nothing of engines."""
