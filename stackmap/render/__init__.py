"""Values → ``str``; nothing here prints, and nothing here asks a host."""
