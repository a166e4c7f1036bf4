"""Measurements behind the README's figures; each is one command and prints its table."""
