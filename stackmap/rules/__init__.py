"""Rules about a storage stack: `explain` runs those that judge a load, `check` those that need none."""
