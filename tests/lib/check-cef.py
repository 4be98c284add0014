#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Is each line of standard input CEF:0?  Prints each as JSON: header fields, severity, and the
# extension as a receiver would read it.

import json
import re
import sys

HEADER = re.compile(r"CEF:0\|((?:[^|\\]|\\[|\\])*)\|((?:[^|\\]|\\[|\\])*)\|((?:[^|\\]|\\[|\\])*)"
                    r"\|((?:[^|\\]|\\[|\\])*)\|((?:[^|\\]|\\[|\\])*)\|(10|[0-9])\|(.*)", re.DOTALL)
# A key begins the extension, or stands behind a space, and is followed by an unescaped "=", which no
# value has.  Values may be long: nothing here repeats an alternative, which costs memory for each turn.
KEY = re.compile(r"(?:^| )([a-zA-Z0-9]+)=")
ESCAPED = re.compile(r"\\[\\=nr]")
KNOWN = set("""rt externalId cat reason dvchost suid spid sproc filePath fname fsize fileHash proto dst
    dhost dpt src spt out in cnt outcome""".split())
KNOWN |= {n + l for n in ("cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cn1", "cn2", "cn3")
          for l in ("", "Label")}
NUMBERS = {"rt", "suid", "spid", "fsize", "dpt", "spt", "out", "in", "cnt", "cn1", "cn2", "cn3"}
LETTERS = {"n": "\n", "r": "\r"}


def unescape(text):
    return re.sub(r"\\(.)", lambda m: LETTERS.get(m[1], m[1]), text)


def split(text):
    """[(key, value as it is written)]; None where there is text before the first key."""
    keys = list(KEY.finditer(text))
    ends = [key.start() for key in keys[1:]] + [len(text)]
    if (keys[0].start(1) if keys else len(text)) != 0:
        return None
    return [(key[1], text[key.end():end]) for key, end in zip(keys, ends)]


def main():
    for n, line in enumerate(sys.stdin.buffer.read().decode("utf-8").split("\n")[:-1], 1):
        match = HEADER.fullmatch(line)
        if not match or any(ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 for c in line):
            sys.exit("line %d: %r" % (n, line[:1000]))
        pairs, extension = split(match[7]), {}
        if pairs is None:
            sys.exit("line %d: no extension: %r" % (n, match[7][:100]))
        for key, value in pairs:
            if key in extension or key not in KNOWN or re.search(r"[\\=]", ESCAPED.sub("", value)):
                sys.exit("line %d: extension: %s=%r" % (n, key, value[:100]))
            extension[key] = unescape(value)
            if key in NUMBERS and not re.fullmatch(r"-?[0-9]+", value):
                sys.exit("line %d: %s is no number" % (n, key))
        for key in [k for k in extension if re.fullmatch("c[sn][1-6]", k)]:
            if key + "Label" not in extension:
                sys.exit("line %d: %s without a label" % (n, key))
        print(json.dumps({"header": [unescape(match[i]) for i in range(1, 6)],
                          "severity": int(match[6]), "extension": extension}))


main()
