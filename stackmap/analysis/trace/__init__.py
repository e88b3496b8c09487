"""What a trace counted, layer by layer, and the row updates of parity arrays."""
