"""
``stackmap whatif``: the measured load of a volume, projected on another layout. The model is in stackmap-model(7).

Start with ``project.py``: it measures, finds the pattern of the writes and applies a ``LayoutModel``.

- ``volume_context.py``: the volume, its members and disks, and the space it needs;
- ``measured.py``: its load; ``pattern.py``: what the counters leave open of that load;
- ``geometry.py``: where a layout stores each byte, what a write causes there, and what parity costs;
- ``requests.py``: requests at the members and disks; ``bitmap.py``: what the write-intent bitmap adds;
- ``timing.py``: how long requests take: ``fitting.py`` (the present layout against the measurement), ``traced_loads.py``
  (when requests come, as a trace saw them), ``counted_loads.py`` (as counters allow), ``services.py`` (how disks serve),
  ``simulation.py`` (the event loop, with the queues of ``disks.py``, which ``throttling.py`` holds back, the threads of ``threads.py``, the copies of ``copying.py``, the
  rows of parity of ``parity_rows.py``, the bitmap of ``simulated_bitmap.py`` and results of ``outcome.py``), ``cache.py``;
- ``replay.py``: requests and bytes by the same simulation, where a trace has the requests one by one;
- ``additions.py``: ``iostat -l --headroom``;
- ``projection.py``: the result, of ``quantities.py``; ``document.py``, ``sentences.py``, ``time_words.py`` and
  ``json.py`` say it.

Of the core it needs the ledger (shares of disks, bitmap writes, flushes of members), ``model/raid.py`` and
``model/layout_request.py``. ``report`` and ``fiojob`` use its rooms.
"""
