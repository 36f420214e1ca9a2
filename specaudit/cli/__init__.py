"""The command line: one file per command, its heavy imports inside the function that needs them."""
