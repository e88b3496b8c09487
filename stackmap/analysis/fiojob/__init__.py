"""The measured load of one device, as what a load generator needs to be told."""
