"""Our exact search."""
