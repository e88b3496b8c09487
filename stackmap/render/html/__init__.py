"""A page → one self-contained HTML file, readable without scripts and network."""
