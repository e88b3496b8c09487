"""What the screen of ``top`` shows: the figures of a moment, the state that keys change, and rows."""
