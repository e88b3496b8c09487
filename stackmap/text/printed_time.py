"""
The times that a text prints: seconds since the epoch where their zone is known, else on one clock as if they were UTC.

sar prints times of day, in the forms of many locales, and the date once per run; iostat -t may print both. A time
of day that goes back by hours is of the next day; one that goes back by less is a clock that was set back.
"""

import re
from datetime import UTC, date, datetime

DAY = 86400
MAX_TIME = 80  # characters
# Words for both halves of the day, as the locales of glibc have them.
HALVES = (
    "am pm, a.m. p.m., a.m p.m, πμ μμ, π.μ. μ.μ., 午前 午後, 上午 下午, 오전 오후, ص م, پن دن, m f, an ew, wd wb, pd md, n.u. n.h., "
    "पूर्वाह्न अपराह्न, म.पू. म.नं., फुं. बेलासे., बिहिनियाँ मंझनियाँ, सञं सबेर, পূর্বাহ্ণ অপরাহ্ণ, পূৰ্ব্বাহ্ন অপৰাহ্ন, এ.ম. প.ম., "
    "ਸਵੇਰੇ ਸ਼ਾਮ, સવારે સાંજે, காலை மாலை, ఉ. సా., ಪೂರ್ವಾಹ್ನ ಅಪರಾಹ್ನ, ಕಾಂಡೆ ಬಯ್ಯ, രാവിലെ വൈകു, နံနက် ညနေ, ဂယး တ္ၚဲစေၚ်, "
    "ጡዋት ከሰዓት, ጽባሕ ምሴት, ማለዶ ቃማ, asubuhi alasiri, subaxnimo galabnimo, saaku carra, soodo hawwaro, "
    "purvahan aparaahna, biknait apinun, hengihengi efiafi, téng-po͘ ē-po͘, دوپھربرونھ دوپھرپتھ, ᏌᎾᎴ ᏒᎯᏱᎢᏗᏢ"
)
IS_PM = {
    word.lower(): is_pm
    for pair in HALVES.split(", ")
    for word, is_pm in zip(pair.split(), (False, True), strict=True)
}
_HALF = "|".join(sorted(map(re.escape, IS_PM), key=len, reverse=True))
NEXT_DAY = 6 * 3600  # a day is over if the time goes back by more than a clock is set back
TIME = re.compile(
    rf"(?:(?<!\w)(?P<before>{_HALF})\s*)?"
    r"(?<!\d)(?P<hour>\d{1,2})\s?[:.時时시點点]\s?(?P<minute>\d\d)(?:\s?[:.分분]\s?(?P<second>\d\d))?"
    rf"[秒초]?(?:[.,]\d+)?(?:[.\s]*(?P<half>{_HALF})(?!\w))?",
    re.IGNORECASE,
)
YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})[-/.年년]\s?(\d{1,2})[-/.月월]\s?(\d{1,2})")
YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})([-/.]|\. )(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
PERSIAN = "۰۱۲۳۴۵۶۷۸۹"  # digits, with which the year is first
BUDDHIST = 543  # years before the common era's first
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NAMED = re.compile(
    r"\b([A-Z][a-z]{2})[a-z]*\s+(\d{1,2}),?\s.*\b(\d{4})\b"
    r"|\b(\d{1,2})[ -]([A-Z][a-z]{2})[a-z]*,?[ -](\d{4})\b"
)
EPOCH = re.compile(r"\d{9,11}(?:\.\d+)?$")
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$")
CLOCK = re.compile(r"\d\d[:時时시]\s?\d\d")
DOTTED = re.compile(
    rf"(?<![\d.])(\d\d)\.(\d\d)\.(\d\d)(?=$|\s(?:{_HALF})(?!\w))", re.IGNORECASE
)  # Finnish
# Lines with only a time: digits, separators, CJK units, AM and PM, a zone.
LINE = re.compile(
    r"(?:Time:\s*)?[\d年月日時时分秒년월일시분초:/.,+\-TZ \t]+(?:[AaPpπμ]\.?[Mmμ]\.?)?(?: [A-Z]{3,4})?\s*$"
)
EPOCH_LINE = re.compile(r"\s*(\d{9,11})\s*$")


def is_time(line: str) -> bool:
    """Whether the line is only a report's time."""
    if EPOCH_LINE.match(line):
        return True
    return LINE.match(line) is not None and bool(CLOCK.search(line) or DOTTED.search(line))


def has_time(line: str) -> bool:
    """Whether a time and part of a date are in a line that is short enough to be one."""
    match = TIME.search(line) if len(line) <= MAX_TIME else None
    return match is not None and any(map(str.isdigit, line[: match.start()] + line[match.end() :]))


def instant(stamp: str) -> float | None:
    """Return the seconds since the epoch; None if the time is ambiguous."""
    if EPOCH_LINE.match(stamp):
        return float(stamp)
    return utc(stamp) if ISO_TIME.match(stamp) else None


def utc(text: str) -> float | None:
    """Return the seconds since the epoch of an ISO time, in UTC if it has no zone; None if it is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC).timestamp()


class PrintedClock:
    """Turns the times of one text into seconds; it remembers the date."""

    def __init__(self) -> None:
        self._day = 0  # since 1970
        self._last = 0  # seconds of the day

    def date(self, printed: str) -> None:
        """Take the date of a run."""
        day = _day(printed)
        if day is not None:
            self._day, self._last = day, 0

    def seconds(self, stamp: str) -> float | None:
        """Return when *stamp* is; None if it has no time."""
        if EPOCH.match(stamp):
            return float(stamp)
        stamp = DOTTED.sub(r"\1:\2:\3", stamp)
        of_day = _time_of_day(stamp)
        if of_day is None:
            return None
        day = _day(stamp)
        if day is not None:
            self._day = day
        elif of_day < self._last - NEXT_DAY:
            self._day += 1
        self._last = of_day
        return float(self._day * DAY + of_day)


def _time_of_day(stamp: str) -> int | None:
    """Return the seconds of the day in *stamp*, None without a time."""
    # "00:10:01", of sar in most locales.
    if len(stamp) == 8 and stamp[2] == ":" == stamp[5]:
        digits = stamp[:2] + stamp[3:5] + stamp[6:]
        if digits.isdecimal():
            return int(stamp[:2]) * 3600 + int(stamp[3:5]) * 60 + int(stamp[6:])
    date_part = YEAR_FIRST.search(stamp) or YEAR_LAST.search(stamp)
    match = TIME.search(stamp, date_part.end() if date_part else 0)
    if match is None:
        return None
    hour = int(match["hour"])
    if half := (match["before"] or match["half"] or "").lower():
        hour = hour % 12 + 12 * IS_PM[half]
    return hour * 3600 + int(match["minute"]) * 60 + int(match["second"] or 0)


def _day(text: str) -> int | None:
    """Return the date in *text* as days since 1970; the month first where both orders are possible, as sysstat's."""
    try:
        if match := YEAR_FIRST.search(text):
            return _days(*map(int, match.groups()))
        if match := YEAR_LAST.search(text):
            one, other, year = int(match[1]), int(match[3]), int(match[4])
            if match[1][0] in PERSIAN:
                return _days(2000 + one, other, year)
            month, day = (other, one) if one > 12 or match[2][0] == "." else (one, other)
            return _days(year + (2000 if year < 100 else 0), month, day)
        if match := NAMED.search(text):
            name, of_month, year_named = match.group(*((1, 2, 3) if match[1] else (5, 4, 6)))
            return _days(int(year_named), MONTHS.index(name.lower()) + 1, int(of_month))
    except ValueError:  # no date of a calendar
        pass
    return None


def _days(year: int, month: int, day: int) -> int:
    if year > 2400:  # as in Thailand and Laos
        year -= BUDDHIST
    return date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
