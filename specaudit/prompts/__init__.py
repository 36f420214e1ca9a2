"""Prompts: token ids where an engine takes them, text otherwise."""
