"""
``python -m stackmap``, and the program ``stackmap``.

Until the command line is imported an interrupt ends the process as any other signal does.
"""

import gc
import os
import signal

# Objects before Python looks for cycles among them (700 made it look while modules are imported), and how
# many such looks before one among older objects: memory stays flat while a command runs for days.
THRESHOLDS = 50_000, 2, 2


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(*THRESHOLDS)
    try:
        if "_STACKMAP_COMPLETE" in os.environ:
            from stackmap import completion

            completion.main()
            return
        from stackmap import cli

        cli.main()
    finally:
        gc.freeze()  # the process ends: no cycle is worth a last search


if __name__ == "__main__":
    main()
