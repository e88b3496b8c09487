"""
Install a wheel below a root, where Fedora's Python looks for it, with the module ``installer``.

``python3 install_wheel.py WHEEL ROOT SITE_PACKAGES``. Debian's Python would choose its own directories.
"""

import sys
import sysconfig

from installer import install
from installer.destinations import SchemeDictionaryDestination
from installer.sources import WheelFile

wheel, root, site = sys.argv[1:]
paths = sysconfig.get_paths("posix_prefix", {"base": "/usr", "platbase": "/usr"})
paths |= {"purelib": site, "platlib": site}
with WheelFile.open(wheel) as source:
    destination = SchemeDictionaryDestination(
        paths, interpreter="/usr/bin/python3", script_kind="posix", destdir=root
    )
    install(source, destination, {"INSTALLER": b"rpm"})
