"""Elimination modulo a prime: the task as arrays, the plain reference, and the compiled kernel."""
