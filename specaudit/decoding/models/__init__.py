"""Language models small enough that their laws are known."""
