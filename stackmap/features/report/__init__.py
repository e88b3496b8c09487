"""
``stackmap report``: one self-contained page for a change request, as HTML or Markdown.

Start with ``page.py``: the sections in order. ``figures.py`` collects what a page needs of the intervals,
by hour of day and request size too. Each section is a function that returns blocks:

- ``decision.py``: the problem, what to do first, what another layout gives and takes;
- ``summary.py``: its details: the device, its load, the proposals in full;
- ``load_over_time.py``: charts over time, by hour of day and by request size;
- ``proposals.py``: other layouts, with a projection of ``whatif`` and a plan of ``plan``.

Of the core it needs ``rules`` for findings, ``document`` for blocks and ``render/html`` for the page's assets.
``fleet`` writes its page with ``command.py``.
"""
