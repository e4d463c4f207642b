"""Drives implementations and compares them with the model, clause by clause."""
