"""See what a Linux storage stack does to I/O: names, layers and the ratios between them."""

__version__ = "0.1.0"
