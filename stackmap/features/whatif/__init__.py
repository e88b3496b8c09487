"""
``stackmap whatif``: the measured load of a volume, projected on another layout. The model is in stackmap-model(7).

Start with ``project.py``: it measures, finds the pattern of the writes, and applies a ``LayoutModel``.

Requests and bytes, by formulas:

- ``volume_context.py``: the volume, its members and disks, and the space that a layout needs;
- ``measured.py``: its load; ``pattern.py``: the patterns of writes that the counters allow;
- ``geometry.py``: where a layout stores each byte, what a write causes there, and what parity costs;
- ``requests.py``: requests at the members and disks; ``bitmap.py``: what the write-intent bitmap adds.

Time, by simulation:

- ``timing.py``: latency and headroom on a layout; ``fitting.py``: the present layout against the measurement;
- ``traced_loads.py``, ``counted_loads.py``: when requests arrive, by a trace or by counters;
- ``services.py``: how disks serve; ``cache.py``: what a cache in front answers;
- ``simulation.py``: the event loop. Its parts: ``disks.py`` (queues) with ``throttling.py``, ``threads.py`` (programs,
  and copies), ``parity_rows.py``, ``simulated_bitmap.py``, and ``outcome.py`` (results);
- ``replay.py``: requests and bytes by the same simulation, where a trace has the requests one by one.

Results: ``projection.py``, of ``quantities.py``. ``document.py``, ``sentences.py``, ``time_words.py`` and ``json.py``
write them. ``additions.py`` is ``iostat -l --headroom``.

Of the core it needs the ledger (shares of disks, bitmap writes, flushes of members), ``model/raid.py`` and
``model/layout_request.py``. ``report`` and ``fiojob`` import it.
"""
