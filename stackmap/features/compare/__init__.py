"""
``stackmap compare``: two recordings of one volume, what changed, and which changes are significant.

Start with ``compare.py``, which compares each figure of each layer.

- ``recording.py``: one side in batches, and the sums of each layer per batch;
- ``comparison.py``: the table of figures, and one figure on both sides;
- ``estimate.py``: the range of a figure, and the probability that a change is chance;
- ``await_change.py``: await, at similar load;
- ``document.py`` and ``json.py`` say it.

Of the core it needs ``measurement`` for both sides, and the ledger for the figures of each batch.
"""
