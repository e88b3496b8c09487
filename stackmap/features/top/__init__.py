"""
The stack live in a full-screen terminal, or a recording.

A key goes from ``terminal``, which names it, through ``program``, which draws and does what is asked, to
``state``: a state and a key in, a state out, and what the key does on a row. An interval comes from ``follow``;
``moment`` has its figures, ``judge`` its findings, ``incidents`` its slow times, ``rows`` the rows of each view,
``cells`` their columns, and ``screen`` puts them together. Each imports only those before it. Start with ``program``.

A column is a line in ``COLUMNS`` of ``cells``; a view also has its rows in ``ROWS`` of ``rows``. A key is a line in
``ACTIONS`` of ``state``.

Of the core: ``sampling/watch.py``, ``host/recording.py`` and the ledger. Nothing of the core is only for ``top``
but ``RecentFiles`` of ``host/segments.py``: what ``W`` writes.
"""
