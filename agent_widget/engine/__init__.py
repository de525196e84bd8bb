"""The engine: one thread, one loop; sessions, runs, tools, questions, Stop."""
