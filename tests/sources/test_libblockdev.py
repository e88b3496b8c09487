"""What LVM and mdadm say through libblockdev: in answers that 2.x and 3.x give, and in captures."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import SourceDenied
from stackmap.host.capture import CapturedHost
from stackmap.model.lv_health import LV_HEALTH, lv_health
from stackmap.sources import libblockdev, lvm_report
from tests.machine import DrawnHost, mapped
from tests.paths import ROOT
from tests.rules.scripted import disks, md

LVM_UUID = "LVM-" + 64 * "a"
VOLUME = {"vg_name": "vg", "lv_name": "data", "attr": "-wi-a-----", "roles": "public", "tags": None}


class Host(DrawnHost):
    """A machine that libblockdev knows *records* of, by question."""

    def __init__(self, *files, **records):
        super().__init__({path: text for part in files for path, text in part.items()})
        self.records = records
        self.asked_for = []

    def metadata(self, of):
        self.asked_for.append(of)
        if of not in self.records:
            raise SourceDenied("libblockdev: needs root")
        return self.records[of]


def lv(number=1, name="vg-data"):
    return mapped(number, name, LVM_UUID)


def array(**answers):
    """A RAID5 of three disks with one failed and one spare, and mdadm's details with *answers*."""
    files = md("raid5", ("sda", "sdb", "sdc"), metadata_version="1.2")
    for member, state, slot in (("sdb", "faulty", "none"), ("sdd", "spare", "none")):
        files |= {
            f"/sys/block/md0/md/dev-{member}/state": f"{state}\n",
            f"/sys/block/md0/md/dev-{member}/slot": f"{slot}\n",
        }
    usual = {"device": "/dev/md0", "metadata": "1.2", "failed_devices": 1, "spare_devices": 1}
    return Host(disks(), files, arrays=[usual | answers])


def said(host):
    topology = discover(host)
    return [*libblockdev.contradictions(topology, libblockdev.read(host, topology).arrays)]


def test_where_neither_lvm_nor_md_is_used_nothing_is_asked():
    host = Host(disks())
    assert libblockdev.read(host, discover(host)) == libblockdev.Reported()
    assert host.asked_for == []


def test_only_what_is_there_is_asked_for():
    host = array()
    libblockdev.read(host, discover(host))
    assert host.asked_for == ["arrays"]


def test_a_refusal_is_a_sentence():
    host = Host(lv())
    reported = libblockdev.read(host, discover(host))
    assert reported.unknown == ("LVM's metadata: libblockdev: needs root",)
    assert reported.volumes == {}


def test_tags_of_2_are_unknown_and_those_of_3_a_list():
    records = [VOLUME, VOLUME | {"lv_name": "two", "tags": ["ceph.osd_id=7", "x"]}]
    found = libblockdev.parse_volumes(records)
    assert [found[f"vg/{name}"].tags for name in ("data", "two")] == [None, ("ceph.osd_id=7", "x")]


@pytest.mark.parametrize("damage", [{"attr": None}, {"vg_name": 7}, {"lv_name": ["a"]}])
def test_a_damaged_record_is_left_out(damage):
    assert libblockdev.parse_volumes([VOLUME | damage, VOLUME]).keys() == {"vg/data"}


def test_lvs_that_are_not_active():
    """lvs shows them as ``-wi-------``; a sub-LV follows the LV that it belongs to."""
    off = {"attr": "-wi-------"}
    records = [
        VOLUME,
        VOLUME | off | {"lv_name": "off"},
        VOLUME | off | {"lv_name": "off_rimage_0", "roles": "private,raid,image"},
        VOLUME | {"lv_name": "held", "attr": "-wi-s-----"},
    ]
    reported = libblockdev.Reported(libblockdev.parse_volumes(records))
    assert libblockdev.inactive(reported) == ["vg/off"]


def test_counts_that_agree_are_no_contradiction():
    assert said(array()) == []


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"metadata": "1.1"}, "metadata of md0: 1.2 in sysfs, 1.1 by mdadm"),
        ({"failed_devices": 2}, "failed devices of md0: 1 in sysfs, 2 by mdadm"),
        ({"spare_devices": 0}, "spare devices of md0: 1 in sysfs, 0 by mdadm"),
    ],
)
def test_a_contradiction_is_one_sentence(answer, sentence):
    assert said(array(**answer)) == [f"{sentence}; it may have changed in between"]


def test_what_libblockdev_does_not_say_contradicts_nothing():
    assert said(array(failed_devices=None, spare_devices=None)) == []


def test_a_member_that_recovers_is_a_spare_to_md():
    """As in get_array_info: what is not in sync counts as spare."""
    host = array(spare_devices=2)
    host.files |= {"/sys/block/md0/md/dev-sdc/state": "spare\n"}
    assert said(host) == []


@pytest.mark.parametrize("letter", "-wRX")
def test_letters_of_healthy_volumes(letter):
    assert lv_health(f"rwi-aor-{letter}-") is None


def test_every_letter_of_lvs_8():
    assert set(LV_HEALTH) == set("prmFDME")
    assert lv_health("rwi-aor-r-") is LV_HEALTH["r"]


TAGGED = [VOLUME | {"lv_name": "osd-block-1", "tags": ["ceph.osd_id=13"]}]


def test_tags_come_from_libblockdev_where_lvs_was_not_recorded(tmp_path):
    """A capture of a machine without links of OSDs has volumes.json, and may lack lvs."""
    (tmp_path / "capture.json").write_text(json.dumps({"format": 2}))
    (tmp_path / "volumes.json").write_text(json.dumps(TAGGED))
    tags = lvm_report.read_tags(CapturedHost(str(tmp_path)))
    assert tags == {"vg/osd-block-1": {"ceph.osd_id": "13"}}


def test_a_refused_lvs_does_not_make_libblockdev_ask_lvm_again():
    host = Host(lv(), volumes=TAGGED)  # its lvs is denied
    assert lvm_report.read_tags(host) == {}
    assert host.asked_for == []


def test_a_recorded_answer_is_checked(tmp_path):
    """Captures of earlier versions have it, and nothing read it."""
    record = json.loads((ROOT / "sample_topologies/vghdd/volumes.json").read_text())
    for each in record:
        if each["lv_name"] == "vm-disk1":
            each["attr"] = "Rwi-aor-p-"
    record.append(record[0] | {"lv_name": "old", "attr": "-wi-----p-", "roles": "public"})
    capture = tmp_path / "capture"
    shutil.copytree(ROOT / "sample_topologies/vghdd", capture, symlinks=True)
    (capture / "volumes.json").write_text(json.dumps(record))
    done = CliRunner().invoke(stackmap, ["--from", str(capture), "check"])
    assert "partial, a PV is missing" in done.stdout
    assert "not active, so not checked: vghdd/old (partial, a PV is missing)" in done.stderr
    named = CliRunner().invoke(stackmap, ["--from", str(capture), "check", "vghdd/vm-disk1"])
    assert "not active" not in named.stderr
