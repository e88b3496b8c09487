"""
What stackmap can do beyond showing figures: one folder per feature, with its figures, its document, its JSON and its command.

The core imports none of them. ``stackmap/commands.py`` names them, with what each adds to the core.
"""
