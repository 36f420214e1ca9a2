"""E-values: evidence against equality that may be watched while it grows, and stopped at will."""
