"""
``python -m stackmap``, and the program ``stackmap``.

Until the command line is imported an interrupt ends the process as any other signal does.
"""

import os
import signal


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if "_STACKMAP_COMPLETE" in os.environ:
        from stackmap import completion

        completion.main()
        return
    from stackmap import cli

    cli.main()


if __name__ == "__main__":
    main()
