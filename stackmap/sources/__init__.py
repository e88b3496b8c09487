"""One file an interface of the system, named after it: ``read(host)`` asks, ``parse(text)`` understands."""
