"""What the checks of greedy decoding share."""
