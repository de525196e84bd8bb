"""What users and projects add: settings files."""
