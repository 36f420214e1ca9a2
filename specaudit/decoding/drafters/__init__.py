"""Drafters: what proposes tokens, and the laws that the proposals were drawn from."""
