"""Checks: pure functions of evidence. Each file is one check: what it asks for, and what it concludes."""
