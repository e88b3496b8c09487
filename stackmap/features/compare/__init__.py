"""Two recordings of one volume: what changed, and which changes are significant."""
