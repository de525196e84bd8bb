"""Public help for tests: vector runner, scripted model, fake clock."""
