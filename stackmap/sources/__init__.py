"""
Kernel and tool interfaces, a file per interface or group of them: ``read(host)`` asks, ``parse(text)`` understands.

They need the host, and the model for what they return. No module keeps an answer: a sample of counters takes what is
known of the one before it (``diskstats.Sample``); only the newest texts of dmsetup stay parsed. Start with
``sysfs.py``, ``diskstats.py`` and ``dm.py``; ``dm_targets/`` reads the words of device-mapper's tables.
"""
