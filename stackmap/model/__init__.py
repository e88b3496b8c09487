"""Devices, topology, RAID levels, counters, load and metrics: no input, no output, no clock."""
