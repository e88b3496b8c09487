"""What is true of devices, stacks and counters: no input, no output, no clock."""
