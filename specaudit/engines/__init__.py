"""Engines answer Requests. `interface.py` says what one must do; each other file is one adapter."""
