"""
The least that a tree of a capture takes: one module with click, without ``stackmap``'s classes, checks and columns.

It has as many options as ``tree``, reads names, sizes, members and tables of the devices of a capture, and prints them.
"""

import os
import sys
from pathlib import Path

import click

OPTIONS = "inverse expand everything json pairs raw dot mermaid svg graphml ascii bytes no-heading"


def options(command):
    for word in OPTIONS.split():
        command = click.option(f"--{word}", is_flag=True, help=f"Print it as {word}.")(command)
    return command


@click.group()
@click.option("--from", "capture", metavar="CAPTURE", help="Read a capture.")
@click.option("--since", help="Start at TIME.")
@click.option("--until", help="End at TIME.")
@click.option("--every", help="Use one sample per LENGTH.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.pass_context
def main(context, capture, **_):
    """Show what a Linux storage stack does to I/O."""
    context.obj = capture


@main.command()
@click.argument("names", nargs=-1)
@click.option("-o", "--output", metavar="LIST", help="Columns, comma-separated.")
@click.option("--diff", metavar="CAPTURE", help="Show what changed since CAPTURE.")
@options
@click.pass_obj
def tree(capture, **_):
    """Show the storage stacks, from volumes down to disks."""
    block = f"{capture}/sys/block"
    names = [name for name in os.listdir(block) if name[0] != "."]
    numbers, sizes, labels, below = {}, {}, {}, {}
    for name in names:
        for file in ("uevent", "size", "ro", "queue/rotational"):
            try:
                text = Path(f"{block}/{name}/{file}").read_text()
            except OSError:
                continue
            if file == "uevent":
                said = dict(line.split("=", 1) for line in text.splitlines())
                numbers[f"{said.get('MAJOR')}:{said.get('MINOR')}"] = name
            elif file == "size":
                sizes[name] = int(text) * 512
        try:
            labels[name] = Path(f"{block}/{name}/dm/name").read_text().strip()
        except OSError:
            labels[name] = name
    devices = {label: name for name, label in labels.items()}
    for line in Path(f"{capture}/cmd/dmsetup-table.txt").read_text().splitlines():
        label, _, words = line.partition(": ")
        under = (numbers[word] for word in words.split() if word in numbers)
        below.setdefault(devices.get(label, label), []).extend(under)
    used = {name for under in below.values() for name in under}

    def show(name, depth):
        click.echo(
            f"{'  ' * depth}{labels[name]:{40 - 2 * depth}} {name:8} {sizes.get(name, 0) >> 20:8} MiB"
        )
        for under in below.get(name, ()):
            show(under, depth + 1)

    for name in sorted(set(names) - used):
        show(name, 0)


if __name__ == "__main__":
    sys.exit(main())
