"""
The findings: what is slow, or set up badly, and why. One file per topic.

A rule is a function under ``@Rule`` (or ``@check``, without a load) that yields observations; the decorator has
its words (title, sentence, caveat, advice), its thresholds with theirs, and its source. Start in ``rule``, then
``context`` (what a rule sees) and a short topic such as ``settings``. ``table`` lists the rules in the order of
causes before effects, joins what they observe and leaves out what another explains better; ``checks`` has those
that ``check`` reports; ``unjudged`` has what could not be judged; ``decision`` judges a measurement and its
episodes, and says what to act on first. It needs ``model`` and ``ledger``.
"""
