"""specaudit: audit deployed speculative decoders."""
