"""Output formats: each file turns a Report into one."""
