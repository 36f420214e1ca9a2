"""The reference decoder with one planted fault each, by family; and controls, unusual but right."""
