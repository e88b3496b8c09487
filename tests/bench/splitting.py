"""The least that an average of an iostat log takes: splitting its tables into words and converting them; no sums."""

import sys

figures = 0
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        words = line.split()
        if len(words) > 20 and words[0] != "Device":
            figures += len([*map(float, words[1:])])
print(figures)
