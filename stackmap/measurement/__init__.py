"""
One path from what is asked to figures: a source, a selection, and a stream of (topology, interval).

A source is this machine, a capture or a text. Nothing here prints: messages go to
a function that the caller gives. Start in ``source.py``: what every source has, and what is selected of it.
Needs ``discover`` for topologies, ``sampling`` and ``text`` for intervals, ``ledger`` for averages.
"""
