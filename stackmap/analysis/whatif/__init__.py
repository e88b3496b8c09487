"""What another layout would make of a measured load: a model, written down in stackmap-whatif(8)."""
