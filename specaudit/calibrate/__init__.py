"""Calibration: what the tool itself catches, and how often it cries wolf."""
