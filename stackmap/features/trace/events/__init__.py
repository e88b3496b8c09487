"""Which request caused which: the events of the block layer, joined."""
