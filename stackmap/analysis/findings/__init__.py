"""Is it the workload, the layout, or a sick disk? A table of rules over what was measured."""
