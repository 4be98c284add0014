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
# A key begins the extension, or stands behind a space, and is followed by an unescaped "=".
PAIR = re.compile(r"([a-zA-Z0-9]+)=((?:[^\\=]|\\[\\=nr])*?)(?= [a-zA-Z0-9]+=|$)", re.DOTALL)
KNOWN = set("""rt externalId cat reason dvchost suid spid sproc filePath fname fsize fileHash proto dst
    dhost dpt src spt out in cnt outcome""".split())
KNOWN |= {n + l for n in ("cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cn1", "cn2", "cn3")
          for l in ("", "Label")}
NUMBERS = {"rt", "suid", "spid", "fsize", "dpt", "spt", "out", "in", "cnt", "cn1", "cn2", "cn3"}
LETTERS = {"n": "\n", "r": "\r"}


def unescape(text):
    return re.sub(r"\\(.)", lambda m: LETTERS.get(m[1], m[1]), text)


def main():
    for n, line in enumerate(sys.stdin.buffer.read().decode("utf-8").split("\n")[:-1], 1):
        match = HEADER.fullmatch(line)
        if not match or any(ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 for c in line):
            sys.exit("line %d: %r" % (n, line))
        extension, at = {}, 0
        while at < len(match[7]):
            pair = PAIR.match(match[7], at)
            if not pair or pair[1] in extension or pair[1] not in KNOWN:
                sys.exit("line %d: extension at %d: %r" % (n, at, match[7][at:at + 100]))
            extension[pair[1]] = unescape(pair[2])
            if pair[1] in NUMBERS and not re.fullmatch(r"-?[0-9]+", pair[2]):
                sys.exit("line %d: %s is no number" % (n, pair[1]))
            at = pair.end() + 1
        for key in [k for k in extension if re.fullmatch("c[sn][1-6]", k)]:
            if key + "Label" not in extension:
                sys.exit("line %d: %s without a label" % (n, key))
        print(json.dumps({"header": [unescape(match[i]) for i in range(1, 6)],
                          "severity": int(match[6]), "extension": extension}))


main()
