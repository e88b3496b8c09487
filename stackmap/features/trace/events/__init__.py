"""
``trace --events``: requests one by one, and what each caused below.

``measure`` reads the events; ``follow`` makes requests of them and joins each to its causes, at arrays without
remaps by ``member_layout``; ``document`` prints them. Start with ``request``.
"""
