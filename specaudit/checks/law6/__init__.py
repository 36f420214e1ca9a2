"""LAW6: lossless relative to what? `check.py` says what is demanded and concludes."""
