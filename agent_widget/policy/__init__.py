"""Decisions as pure functions: data in, decision out."""
