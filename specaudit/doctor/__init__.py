"""What an endpoint reveals, found by asking it: a checklist, the checks that it supports, and what would allow more."""
