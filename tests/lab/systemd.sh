# Sourced by `guest`, for a scenario of services (--env SYSTEMD=1): systemd becomes process 1, with the script as a
# service of its own. Of Debian's units it has none: the guest's devices and mounts are there already.
units=/run/systemd/system
mkdir -p $units
for target in sysinit basic local-fs multi-user timers shutdown; do
    printf '[Unit]\nDefaultDependencies=no\n' > $units/$target.target
done
cat > $units/lab.service <<END
[Unit]
DefaultDependencies=no
[Service]
Type=exec
Environment=PATH=$PATH HOME=/root LC_ALL=C.UTF-8
ExecStart=/bin/bash -c '. /out/.lab/env; exec bash /lab/finish'
END
printf '[Unit]\nDefaultDependencies=no\nWants=lab.service\n' > $units/lab.target
# Bind mounts of one folder inside another are all the mounts there are; services have name spaces of their own.
mount --make-rshared /
exec env SYSTEMD_UNIT_PATH=$units /lib/systemd/systemd --system --unit=lab.target --show-status=no
