"""
The commands of a migration to another layout; stackmap prints them and runs none.

``inputs`` asks the host; ``plan`` has the answers and the plan. ``strategies`` tries each way that fits: for
LVs ``lvm_convert`` and ``lvm_copy`` with ``lvm_steps``, for arrays ``md_grow`` and ``md_new_array``. ``users`` stops
and starts what uses a volume, ``lab_results`` says what was tested, and ``guard`` makes step 1 fail on another host.
``document`` writes the plan. Start with ``strategies``.

Of the core: ``model/operand.py`` has the types of every word in a command, ``model/command_line.py`` quotes them,
``model/layout_request.py`` parses ``--to``; ``sources/lvm_report.py``, ``mdraid``, ``mountinfo``, ``swaps`` and ``udev``
read what a plan is judged by.
"""
