"""Audits of healthy subjects, and of subjects exactly at the tolerance, by every method that a verdict rests on."""
