"""The reference decoder behind a real HTTP server, so that the HTTP way can be tested without a GPU."""
