"""The thresholds of a rule in words: minimums, unless they say otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.document.templates import figure

if TYPE_CHECKING:
    from stackmap.rules.rule import Rule

FULLNESS = {
    "warning": "{} full",
    "critical": "critical from {}",
    "soon": "or full within {}",
    "trend": "growth over {}",
}
# By the name that a rule gives it, where several rules mean the same.
WORDS = {
    "busy": "busy {}",
    "bytes": "{} written",
    "cost": "{} full-stripe cost",
    "intervals": "{} intervals",
    "light_rate": "info below {}",
    "light_queue": "and queue depth {} on every disk",
    "mix_difference": "read shares within {}",
    "queue": "queue depth {}",
    "requests": "{} requests",
    "size_ratio": "sizes within {}",
    **FULLNESS,
}
PARITY = {"light_queue": "info below queue depth {} on every disk"}
RULE_WORDS = {
    "SM101": PARITY,
    "SM102": {"chunk": "chunk up to {}", "full": "mean size {} of it"},
    "SM103": {"large": "{} above", "small": "up to {} at the disks", "merged": "merging below {}"},
    "SM104": {"merged": "merging {}", "share": "{} of disk bytes"},
    "SM111": {"size": "warning: writes {} the limit"},
    "SM112": PARITY,
    "SM201": {"slower": "{} the expected time"},
    "SM202": {
        "slower": "{} the median",
        "await": "{} longer",
        "rate_difference": "rates within {}",
        "slow_intervals": "in {} of intervals",
        "chance": "info below {} requests at twice the median",
        "cap_difference": "not capped: rates differ by {}",
        "saturated": "info if all are busy {}",
        "next_slowest": "info below {} the next slowest",
        "quiet_queue": "info if fast up to queue depth {}",
        "quiet_requests": "from {} requests",
        "lasting": "below {} slow intervals",
    },
    "SM203": {"ratio": "{} the median"},
    "SM204": {
        "slower": "{} the transfer time",
        "size": "size {}",
        "queue": "queue depth below {}",
    },
    "SM303": {"share": "excess {} of the members' I/O", "bytes": "and {}"},
    "SM304": {"data_over_parity": "{} more data than parity members"},
    "SM401": {
        "slower": "{} the await",
        "await": "{} longer",
        "low_queue": "low queue up to {}",
        "high_queue": "high queue {}",
        "baseline_size_ratio": "baseline sizes within {}",
        "trickle": "lower rate {} of the higher",
        "intervals": "in {} of intervals",
        "least_busy": "queue depth while busy from {}",
    },
    "SM403": {
        "spread": "longest queue {} the shortest",
        "flat_share": "knee at {} of the highest rate",
        "beyond": "longest queue {} the knee's",
        "least_queue": "counted from queue depth {}",
        "least_rate": "and {}",
        "knee": "knee at queue depth {}",
        "queue": "longest queue {}",
        "trickle": "rate there {} of the knee's",
    },
    "SM404": {"spread": "mix within {}", "slower": "write await {} the read await"},
    "SM411": {"cpu": "thread busy {}", "disk_queue": "disks' queue depth up to {}"},
    "SM501": {"share": "metadata writes {} the writes"},
    "SM502": {"share": "{} of the time", "await": "flush await {}"},
    "SM503": {"missed": "{} missed"},
    "SM504": {"share": "copies {} the writes"},
    "SM505": {"ratio": "{} the volumes' writes"},
    "SM511": {"copied": "copies {} the I/O", "promotions": "{} blocks copied"},
    "SM512": {"dirty": "{} dirty"},
    "SM514": {"hits": "{} hits"},
    "SM515": {"ratio": "more than {} the data"},
    "SM601": {"rows": "up to {} rows", "read": "reads {} the writes"},
    "SM603": {"share": "{} of the queue"},
    "SM604": {"size_difference": "sizes within {}"},
    "SM605": {"await": "write await {}"},
    "SM701": {"share_of_cap": "{} of the cap"},
    "SM913": {"size": "info below {}"},
    "SM914": {"stripes": "{} stripes"},
}


def threshold(rule: Rule, name: str) -> str:
    """Return a threshold of *rule* in words with its unit: ``chunk up to 32 KiB``; ``KeyError`` without words."""
    words = RULE_WORDS.get(rule.id, {}).get(name) or WORDS[name]
    return words.format(figure(*rule.thresholds[name]))
