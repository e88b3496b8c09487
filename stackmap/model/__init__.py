"""
Devices, topology, RAID levels, dm targets, counters, load and metrics: no input, no output, no clock.

Start with ``device.py``, ``topology.py`` and ``interval.py``. Facts that are the same on every machine are tables:
``RAID_LEVELS`` in ``raid.py``, ``DM_TARGETS`` in ``dm_targets.py``, ``METRICS`` in ``load.py``.
"""
