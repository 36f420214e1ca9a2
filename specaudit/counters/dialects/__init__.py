"""One file per engine: which series it exports, under which names, and what they mean."""
