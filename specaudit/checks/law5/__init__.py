"""LAW5: the matrix of sampling parameters. `check.py` says what is demanded and concludes."""
