"""Two recordings of one volume beside each other: what changed, and what of it is more than chance."""
