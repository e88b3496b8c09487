"""
The ledger: the traffic from each layer to the next, by owner and cause. Pure functions of a topology and an interval.

``ledger.Ledger`` is the room's one door: the traffic of one interval, worked out when it is needed. Start
there, then ``sent`` (what a device sent down), ``ownership`` (which part belongs to one volume) and ``rows``
(for which cause). ``amounts`` has the values: exact, or with bounds. Sums over the ledger are in
``amplification`` (per layer), ``disk_cost`` and ``parity`` (per byte written) and ``blame`` (per disk).

``corrections`` comes before all of it: counters that the kernel gets wrong. ``member_writes`` and
``device_state`` have what members and states show; ``averages`` and ``time_series`` join intervals, ``episodes`` finds
when something was unusual in them.
It needs ``model`` only.
"""
