"""The tests, and the real servers that they run on."""
