"""What a shell line would run, found from its parse; nothing here runs or reads anything."""
