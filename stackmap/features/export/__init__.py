"""
Figures for other programs: OpenMetrics, Parquet, and the stacks for node_exporter.

``time_series`` writes the figures of each device over time, ``recording`` a whole recording as ``tables``. ``--textfile`` writes what a server needs to compute the
figures itself: ``weights`` says which counters are the traffic of a stack's layers, ``families`` has all metrics of a
host, and ``textfile_command`` writes them and keeps the samples that slow members are judged by. Start with ``command``.

Of the core: ``measurement`` gives the intervals, ``ledger`` the rules of traffic, ``rules`` the findings;
``model/exported.py`` has the names that ``features/fleet`` and ``discover/exported.py`` read again.
"""
