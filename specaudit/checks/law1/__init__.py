"""LAW1: the law of the emitted tokens. `check.py` says what is demanded and concludes."""
