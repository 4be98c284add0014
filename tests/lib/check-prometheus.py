#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Is standard input the text exposition format 0.0.4, strictly?
#
# Beside the grammar: HELP and TYPE once and before the samples, the samples of a metric together, no
# series twice, counters end in _total and are not negative, histograms add up, base units, no time
# stamps (the textfile collector refuses them), at most MAX_SERIES series of a metric, UTF-8.

import math
import re
import sys

MAX_SERIES = 101
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(r"(%s)(?:\{(%s(?:,%s)*)\})? (\S+)" % (NAME, LABEL, LABEL))
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}
FOREIGN = ("_ms", "_us", "_ns", "_milliseconds", "_microseconds", "_kilobytes", "_kb", "_percent")


def die(n, line, why):
    sys.exit("line %d: %s: %r" % (n, why, line))


def number(n, line, text):
    if not re.fullmatch(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|Inf)|NaN", text):
        die(n, line, "no number")
    return float(text)


def check_histogram(name, samples):
    buckets = [(float(labels["le"]), value) for suffix, labels, value in samples if suffix == "_bucket"]
    count = [value for suffix, _, value in samples if suffix == "_count"]
    assert [b for b, _ in buckets] == sorted(b for b, _ in buckets), name + ": order of buckets"
    assert [v for _, v in buckets] == sorted(v for _, v in buckets), name + ": buckets go down"
    assert math.isinf(buckets[-1][0]) and [buckets[-1][1]] == count, name + ": +Inf is not the count"
    assert sum(suffix == "_sum" for suffix, _, _ in samples) == 1, name + ": sum"


def main():
    text = sys.stdin.buffer.read().decode("utf-8")
    if text and not text.endswith("\n"):
        sys.exit("no newline at the end")
    kinds, helps, closed, seen, samples = {}, set(), set(), set(), {}
    current = None
    for n, line in enumerate(text.split("\n")[:-1], 1):
        match = re.fullmatch(r"# HELP (%s) ((?:[^\\]|\\[\\n])+)" % NAME, line)
        if match:
            if match[1] in helps:
                die(n, line, "HELP twice")
            helps.add(match[1])
            continue
        match = re.fullmatch(r"# TYPE (%s) (counter|gauge|histogram)" % NAME, line)
        if match:
            if match[1] in kinds or match[1] not in helps:
                die(n, line, "TYPE twice or without HELP")
            closed.add(current)
            current = match[1]
            kinds[current] = match[2]
            samples[current] = []
            if (match[2] == "counter") != current.endswith("_total"):
                die(n, line, "_total is for counters and counters only")
            if any(unit in current for unit in FOREIGN):
                die(n, line, "no base unit")
            continue
        match = SAMPLE.fullmatch(line)
        if not match:
            die(n, line, "neither comment nor sample")
        name, labels, value = match[1], match[2] or "", number(n, line, match[3])
        suffix = next((s for s in SUFFIXES.get(kinds.get(current), ("",))
                       if name == (current or "") + s), None)
        if suffix is None:
            die(n, line, "not of the metric above")
        if (name, labels) in seen:
            die(n, line, "twice")
        seen.add((name, labels))
        pairs = dict(re.findall(r'([a-zA-Z_0-9]+)="((?:[^"\\]|\\.)*)"', labels))
        if len(pairs) != len(re.findall(LABEL, labels)):
            die(n, line, "a label twice")
        if kinds[current] != "gauge" and value < 0:
            die(n, line, "negative")
        samples[current].append((suffix, pairs, value))
    for name, kind in kinds.items():
        assert samples[name], name + " has no samples"
        assert len(samples[name]) <= MAX_SERIES, name + ": too many series"
        if kind == "histogram":
            check_histogram(name, samples[name])


main()
