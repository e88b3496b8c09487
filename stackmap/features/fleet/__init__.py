"""
A fleet of hosts: the figures of all their volumes, from what ``features/export`` made Prometheus store.

An answer goes from ``http`` (with ``http_config``: credentials and TLS) to ``reader``, which asks what ``promql`` and
``health`` say and makes the ``volumes`` of a ``Fleet``; ``document`` has the table and the page, and ``command`` prints
them. With HOST, ``host_source`` makes one host's stored counters a source of intervals like any other. Start with
``reader``.

Of the core: ``model/exported.py`` has the names of the metrics, ``discover/exported.py`` makes a topology of them, and
``host/background.py`` ends a wait. The rules that record the series are in ``packaging/prometheus``.
"""
