"""Models: what the engine asks of them, and those that come with the package."""
