"""Speculation under load: the reference decoder and its scheduler, on a clock that the step-time model drives.

Nothing that judges imports it: it shares code with the decoder.
"""
