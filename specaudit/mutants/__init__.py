"""The reference decoder with one planted fault each, by family."""
