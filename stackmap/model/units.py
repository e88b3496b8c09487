"""Units of size, in bytes."""

SECTOR = 512  # of the kernel, device-mapper and sysstat, whatever a disk's own sector size
KIB, MIB, GIB = 1024, 1024**2, 1024**3
