"""A page → one HTML file that needs nothing else: no network, no script to say what it says."""
