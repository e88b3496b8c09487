"""
``stackmap fiojob``: the measured load of one device as a job for fio.

Start with ``load.py``: rates, sizes, queue depth and flushes over the intervals, and how much is sequential, by
the pattern that ``whatif`` finds. ``sizes.py`` derives request sizes from means; ``job.py`` makes fio's options,
the job file and the JSON; ``target.py`` refuses a target that is in use.

Of the core it needs ``ledger/amplification.py``, and ``discover/uses.py`` and ``discover/find.py`` for the target.
"""
