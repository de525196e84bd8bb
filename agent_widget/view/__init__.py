"""What a person sees of a session: projection, wire form, differences."""
