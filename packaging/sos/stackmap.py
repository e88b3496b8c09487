# This file is MIT-licensed, as stackmap is; sos takes it with the header of
# its other files (see contrib/README.md there).

from sos.report.plugins import Plugin, IndependentPlugin, PluginOpt


class Stackmap(Plugin, IndependentPlugin):
    """Collects what a storage stack does to I/O, layer by layer, through the
    `stackmap` utility: the stacks of all block devices, the results of its
    checks, and a recording of the counters of all block devices.

    The recording takes one sample per second for the length that the
    `seconds` option sets, and is read on any machine by `stackmap --from`.
    Recordings of the stackmap-record@.service unit are collected as well.
    """

    short_desc = 'I/O of the storage stack, layer by layer'

    plugin_name = 'stackmap'
    profiles = ('storage', 'performance')
    packages = ('stackmap',)
    commands = ('stackmap',)
    plugin_timeout = 900

    option_list = [
        PluginOpt('seconds', default=30, val_type=int,
                  desc='length of the recording, one sample per second')
    ]

    def setup(self):
        self.add_cmd_output([
            "stackmap --version",
            "stackmap tree",
            "stackmap tree -J",
            "stackmap check --all",
        ])

        seconds = self.get_option('seconds')
        recording = self.get_cmd_output_path(name='recording', make=False)
        self.add_cmd_output(
            f"stackmap record '{recording}' 1 {seconds}",
            suggest_filename="stackmap_record", timeout=seconds + 120,
        )

        # The newest files first.
        self.add_copy_spec("/var/lib/stackmap", sizelimit=50)

# vim: set et ts=4 sw=4 :
