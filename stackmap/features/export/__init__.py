"""Figures for other programs: OpenMetrics, Parquet, and the stacks for node_exporter."""
