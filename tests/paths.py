"""Where tests find the checkout: its samples, captures and expected outputs."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
