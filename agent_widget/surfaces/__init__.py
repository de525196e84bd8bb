"""Where people meet a session: the notebook widget and its transport."""
