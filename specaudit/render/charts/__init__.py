"""Exhibits as inline SVG, a file for each form; colours are the page's, by class."""
