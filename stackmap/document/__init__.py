"""
What a command says, once: headlines, paragraphs, tables, charts, commands. ``render`` decides how it looks.

It needs the model, the ledger and the rules, and no host. Start at ``blocks``: the parts of a document, with
tables of values. ``iostat``, ``layers``, ``blame``, ``findings`` and ``episodes`` build documents of them;
``sentences`` (of a stack), ``rule_words`` (of findings and decisions), ``describe`` and ``wording`` have the
words. Features bring their own documents.
"""
