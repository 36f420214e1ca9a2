"""Verification: which drafts the target keeps, and what it emits where they end."""
