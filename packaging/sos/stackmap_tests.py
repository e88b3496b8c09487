# This file is MIT-licensed, as stackmap is; sos takes it with the header of
# its other files (see contrib/README.md there).

from sos_tests import StageTwoReportTest


class StackmapPluginTest(StageTwoReportTest):
    """Ensure that the stacks and a recording are collected, and that the
    option limits the length of the recording.

    :avocado: tags=stagetwo
    """

    packages = {
        'rhel': ['stackmap'],
        'ubuntu': ['stackmap'],
    }

    sos_cmd = '-o stackmap -k stackmap.seconds=2'

    def test_stackmap_plugin_executed(self):
        self.assertPluginIncluded('stackmap')

    def test_stacks_collected(self):
        self.assertFileCollected('sos_commands/stackmap/stackmap_tree')
        self.assertFileCollected('sos_commands/stackmap/stackmap_tree_-J')

    def test_recording_collected(self):
        self.assertFileGlobInArchive(
            'sos_commands/stackmap/recording/capture.json')
