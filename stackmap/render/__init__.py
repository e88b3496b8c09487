"""
Writers: documents and topologies → text, Markdown, HTML, CSV, JSON and diagrams. Nothing here prints or measures.

It needs the model, the ledger and the rules for JSON, and ``document``. Start at ``terminal``: one function
per kind of block, as in ``markdown`` and ``html.page``. ``text`` escapes and aligns all that comes from a system.
"""
