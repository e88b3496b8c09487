# This program is free software under the MIT License; see the LICENSE file
# of stackmap.

from sos.report.plugins import (Plugin, RedHatPlugin, DebianPlugin,
                                UbuntuPlugin, SuSEPlugin)

try:
    from sos.report.plugins import PluginOpt
except ImportError:  # before sos 4.2 an option was a tuple
    PluginOpt = None

SECONDS = 'length of the recording, one sample per second'


class Stackmap(Plugin, RedHatPlugin, DebianPlugin, UbuntuPlugin, SuSEPlugin):
    """
    stackmap shows what a Linux storage stack does to I/O. This plugin
    collects the storage stacks, the results of its checks, and a short
    recording of the counters of all block devices, which 'stackmap --from'
    reads on any machine.
    """

    short_desc = 'I/O of the storage stack, layer by layer'

    plugin_name = 'stackmap'
    profiles = ('storage', 'performance')
    packages = ('stackmap',)
    commands = ('stackmap',)
    plugin_timeout = 900

    option_list = [
        PluginOpt('seconds', default=30, val_type=int, desc=SECONDS)
        if PluginOpt else ('seconds', SECONDS, 'slow', 30),
    ]

    def setup(self):
        self.add_cmd_output([
            'stackmap --version',
            'stackmap tree',
            'stackmap tree -J',
            'stackmap check --all',
        ])

        seconds = int(self.get_option('seconds'))
        recording = self.get_cmd_output_path(name='recording', make=False)
        self.add_cmd_output(
            "stackmap record '%s' 1 %d" % (recording, seconds),
            timeout=seconds + 120,
        )

        # The recordings of stackmap-record@.service; the newest files first.
        self.add_copy_spec('/var/lib/stackmap', sizelimit=50)

# vim: set et ts=4 sw=4 :
