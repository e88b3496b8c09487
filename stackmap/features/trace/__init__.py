"""
Latency and size distributions of every layer, and the row updates of parity arrays, by kernel probes.

Only options with ``trace`` or ``prove`` change the kernel. ``tracefs`` installs everything in one tracefs
instance and removes all of it; ``probes`` has the probes and triggers; ``dm_stats`` is used where the kernel has
none. ``cost`` measures the CPU time per traced request, with copies of the probes on two system calls.
``additions`` and ``traced_topology`` are what the core's commands have of a trace.

The way of a figure: ``measure`` installs what this kernel can have, and runs a trace; ``record`` keeps the kernel's
texts, so that a capture replays a trace, and counts what they say; ``figures`` sums it by layer, and withholds what
fails a check; ``document`` and ``json`` print. ``owners`` does the same for ``blame --trace``, and ``events/`` for
single requests. Start with ``measure``.

Of the core: ``host/tracing.py`` writes to tracefs and dm's statistics, ``host/btf.py`` has the offsets of the
kernel's structures, ``host/signals.py`` removes all probes whichever signal ends the program;
``sources/trace_text.py`` parses the kernel's texts. All that differs between kernels is in these, in ``probes`` and
in ``measure``.
"""
