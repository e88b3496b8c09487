"""``python -m stackmap``."""

from stackmap.cli import main

if __name__ == "__main__":
    main()
