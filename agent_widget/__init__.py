"""agent_widget: talk to an agent next to your data."""
