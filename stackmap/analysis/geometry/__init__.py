"""Do the layers fit each other: starts, chunks, stripes and sectors, from what is known without any load?"""
