"""What a measured load would be on another layout: a model, described in stackmap-whatif(8)."""
