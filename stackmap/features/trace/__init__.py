"""
Latency and size distributions of every layer, and the row updates of parity arrays, by kernel probes.

Only options with ``trace`` or ``prove`` change the kernel. ``instance`` installs everything in one tracefs
instance, and ``tracefs`` removes all of it; ``probes`` has the probes, and ``probe_sets`` what is installed
together. ``cost`` measures the CPU time per traced request, with copies of the probes on two system calls.
``record`` keeps the kernel's texts, so a capture replays a trace and a test parses one.

Of the core: ``host/tracing.py`` writes to tracefs and dm's statistics, ``host/btf.py`` has the offsets of the
kernel's structures, ``host/signals.py`` removes all probes whichever signal ends the program;
``sources/trace_histogram.py``, ``sources/block_events.py`` and ``sources/kallsyms.py`` parse the kernel's
texts. Start with ``measure``.
"""
