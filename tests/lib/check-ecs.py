#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Is each line of standard input a document of ECS 8.11?  Prints how many there are of each
# event.action.
#
# FIELDS are the fields of that schema that are used here and their types (k: text, l: number,
# d: date, i: address, [k]: a list); what is below "menace" is ours.

import collections
import ipaddress
import json
import re
import sys

FIELDS = {
    "@timestamp": "d", "ecs.version": "k", "event.action": "k", "event.id": "k", "event.sequence": "l",
    "event.module": "k", "event.provider": "k", "event.dataset": "k", "event.kind": "k",
    "event.category": "[k]", "event.type": "[k]", "event.outcome": "k", "event.reason": "k",
    "event.duration": "l", "observer.product": "k", "observer.version": "k", "host.hostname": "k",
    "host.os.type": "k", "host.os.kernel": "k", "trace.id": "k", "user.id": "k", "process.pid": "l",
    "process.entity_id": "k", "process.name": "k", "process.executable": "k", "process.args": "[k]",
    "process.command_line": "k", "process.working_directory": "k", "process.start": "d",
    "process.end": "d", "process.exit_code": "l", "process.parent.pid": "l",
    "process.parent.entity_id": "k", "network.transport": "k", "network.protocol": "k",
    "destination.ip": "i", "destination.address": "k", "destination.port": "l", "destination.bytes": "l",
    "destination.packets": "l", "source.ip": "i", "source.address": "k", "source.port": "l",
    "source.bytes": "l", "source.packets": "l", "dns.question.name": "k", "dns.question.type": "k",
    "dns.type": "k", "file.path": "k", "file.name": "k", "file.size": "l", "file.type": "k",
    "file.hash.sha256": "k", "rule.name": "k", "error.code": "k", "error.message": "k",
}
KINDS = {"event", "alert"}
CATEGORIES = {"process", "network", "file", "configuration"}
TYPES = {"start", "end", "info", "error", "connection", "allowed", "denied", "protocol", "creation",
         "deletion", "change", "access"}
OUTCOMES = {"success", "failure", "unknown"}


def flatten(prefix, value, out):
    if isinstance(value, dict) and prefix.split(".")[0] != "menace":
        for key, member in value.items():
            flatten(prefix + "." + key if prefix else key, member, out)
    else:
        out[prefix] = value


def check_type(name, kind, value):
    if kind == "[k]":
        assert isinstance(value, list) and all(isinstance(v, str) for v in value), name
    elif kind == "l":
        assert type(value) is int and -2**63 <= value < 2**63, name
    else:
        assert isinstance(value, str), name
        if kind == "d":
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", value), value
        if kind == "i":
            ipaddress.ip_address(value)


def main():
    counts = collections.Counter()
    for n, line in enumerate(sys.stdin, 1):
        fields = {}
        flatten("", json.loads(line), fields)
        ours = fields.pop("menace")
        try:
            for name, value in fields.items():
                check_type(name, FIELDS[name], value)
            assert None not in ours.values(), "null"
            assert {"@timestamp", "ecs.version", "event.kind"} <= set(fields)
            assert fields["ecs.version"] == "8.11.0" and fields["event.kind"] in KINDS
            assert set(fields["event.category"]) <= CATEGORIES and set(fields["event.type"]) <= TYPES
            assert fields.get("event.outcome", "unknown") in OUTCOMES
        except (AssertionError, KeyError, ValueError) as e:
            sys.exit("line %d: %r: %s" % (n, e, line))
        counts[fields["event.action"]] += 1
    print(" ".join("%s:%d" % pair for pair in sorted(counts.items())))


main()
