"""Which numbers are instants: seconds since the epoch, of a year that can be shown."""

END_OF_TIME = 253402300800  # the beginning of the year 10,000


def is_instant(time: float) -> bool:
    """Whether *time* is from 1970 on and before the year 10,000; False for NaN."""
    return 0 <= time < END_OF_TIME
