"""
The findings: what is slow, or set up badly, and why. One file per topic.

A rule is a function under ``@Rule`` (or ``@check``, without a load) that yields observations; the decorator has
its sentence, caveat, advice, thresholds and source. Start in ``rule``, then ``context`` (what a rule sees) and
a short topic such as ``settings``. ``table`` lists the rules in the order of causes before effects, joins what they
observe and leaves out what another explains better; ``checks`` has those that ``check`` reports;
``unjudged`` has what could not be judged. It needs ``model`` and ``ledger``.
"""
