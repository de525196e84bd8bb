"""The host this process runs in: its kernel, its main thread, and waiting there without a hang."""
