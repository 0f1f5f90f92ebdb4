"""Reads, checks and runs a plan."""
