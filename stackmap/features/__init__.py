"""What stackmap can do beyond showing figures: one folder per feature; the core imports none of them."""
