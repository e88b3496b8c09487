"""What follows: one question a file, pure functions of a topology and an interval."""
