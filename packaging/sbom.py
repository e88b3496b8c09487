"""
Write the bill of materials of a build as CycloneDX 1.6: ``sbom.py VERSION > FILE``.

It lists what stackmap needs, what it can use, with the versions that CI tested (``lock.txt``), and what it contains.
It is the same for the same commit: no random serial number, and the date of the commit.
"""

from __future__ import annotations

import configparser
import datetime as dt
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
OPTIONAL = (
    "fleet",
    "parquet",
    "recordings",
)  # extras that a user installs; the others are for developers
UPLOT = TOP / "stackmap/render/html/vendor/uPlot.iife.min.js"
PINNED = re.compile(r"^(\S+)==(\S+)", re.MULTILINE)
NEEDED_BY = re.compile(r"^ +# +(?:via )?([\w-]+)", re.MULTILINE)
NAME = re.compile(r"^[\w-]+", re.MULTILINE)


def names(requirements: str) -> set[str]:
    """Return the packages of a list in setup.cfg, as lock.txt spells them."""
    return {name.lower() for name in NAME.findall(requirements)}


def pinned() -> list[tuple[str, str, set[str]]]:
    """Return name, version and the packages that need it, for each entry of lock.txt."""
    entries = re.split(r"^(?=\w)", (TOP / "packaging/lock.txt").read_text(), flags=re.MULTILINE)
    found = []
    for entry in entries:
        for name, version in PINNED.findall(entry):
            found.append((name, version, set(NEEDED_BY.findall(entry))))
    return found


def bill(version: str, epoch: int) -> dict[str, Any]:
    """Return the document for this tree."""
    setup = configparser.ConfigParser()
    setup.read(TOP / "setup.cfg")
    required = names(setup["options"]["install_requires"])
    wanted = required.union(*(names(setup["options.extras_require"][extra]) for extra in OPTIONAL))
    locked = pinned()
    while more := {name for name, _, needed_by in locked if needed_by & wanted} - wanted:
        wanted |= more
    packages = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{number}",
            "name": name,
            "version": number,
            "scope": "required" if name in required else "optional",
            "purl": f"pkg:pypi/{name}@{number}",
        }
        for name, number, _ in locked
        if name in wanted
    ]
    content = UPLOT.read_bytes()
    (uplot,) = re.findall(rb"uPlot \(v([\d.]+)\)", content)
    ref = f"pkg:npm/uplot@{uplot.decode()}"
    packages.append(
        {
            "type": "library",
            "bom-ref": ref,
            "name": "uplot",
            "version": uplot.decode(),
            "scope": "required",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
            "licenses": [{"license": {"id": "MIT"}}],
            "purl": ref,
        }
    )
    main = f"stackmap@{version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": dt.datetime.fromtimestamp(epoch, dt.UTC).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": main,
                "name": "stackmap",
                "version": version,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": packages,
        "dependencies": [{"ref": main, "dependsOn": [each["bom-ref"] for each in packages]}],
    }


if __name__ == "__main__":
    text = json.dumps(bill(sys.argv[1], int(os.environ["SOURCE_DATE_EPOCH"])), indent=1)
    sys.stdout.write(f"{text}\n")
