"""Acceptance from an engine's own counters: text → readings → windows → acceptance; no I/O."""
