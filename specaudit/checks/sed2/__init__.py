"""SED2: whether a request depends on what else is in its batch."""
