"""Other people's verifiers under test: random worlds, the calls, and what their outcomes show."""
