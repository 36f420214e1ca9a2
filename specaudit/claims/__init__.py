"""What a vendor's number implies: what memory and arithmetic allow, what speculation costs, and what to ask."""
