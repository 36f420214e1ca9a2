"""LAW3: the law of single tokens by depth. `check.py` says what is demanded and concludes."""
