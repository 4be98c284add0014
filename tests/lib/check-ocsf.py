#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Is each line of standard input an event as OCSF 1.8.0 wants it?  Prints how many there are of each
# class.
#
# The tables are facts of that version: for the classes and objects that are used here, which
# attributes are required, which are known at all and of what type, which numbers an enumeration has.
# i: number, s: text, b: boolean, j: anything, NAME: an object, [NAME]: a list of them, required: '!'.

import collections
import json
import sys

BASE = dict(category_uid="i!", class_uid="i!", type_uid="i!", activity_id="i!", severity_id="i!",
            time="i!", metadata="metadata!", category_name="s", class_name="s", activity_name="s",
            severity="s", type_name="s", message="s", status="s", status_code="s", status_detail="s",
            status_id="i", count="i", duration="i", start_time="i", end_time="i", unmapped="j",
            timezone_offset="i")
HOST = dict(device="device!", actor="actor!")
NET = dict(device="device", actor="actor", src_endpoint="network_endpoint",
           dst_endpoint="network_endpoint", connection_info="network_connection_info",
           traffic="network_traffic")

CLASSES = {
    0: ({0, 99}, dict(BASE, device="device", actor="actor")),
    1001: (set(range(0, 15)) | {99}, dict(BASE, **HOST, file="file!", file_result="file")),
    1007: ({0, 1, 2, 3, 4, 5, 99}, dict(BASE, **HOST, process="process!", exit_code="i",
                                        launch_type_id="i")),
    2004: ({0, 1, 2, 3, 99}, dict(BASE, device="device", actor="actor", finding_info="finding_info!",
                                  evidences="[evidences]", is_alert="b", action_id="i",
                                  disposition_id="i", confidence_id="i")),
    4001: ({0, 1, 2, 3, 4, 5, 6, 7, 99}, dict(BASE, **NET, url="j")),
    4003: ({0, 1, 2, 6, 99}, dict(BASE, **NET, query="dns_query", rcode_id="i", query_time="i")),
}
OBJECTS = {
    "metadata": dict(version="s!", product="product!", correlation_uid="s", sequence="i", uid="s",
                     event_code="s", profiles="[s]", log_name="s", logged_time="i"),
    "product": dict(name="s", vendor_name="s", version="s", uid="s"),
    "device": dict(type_id="i!", hostname="s", os="os", uid="s", name="s", ip="s"),
    "os": dict(name="s!", type_id="i!", kernel_release="s", version="s"),
    "actor": dict(process="process", user="user", app_name="s", session="j"),
    "user": dict(name="s", uid="s", type_id="i"),
    "process": dict(pid="i", uid="s", name="s", cmd_line="s", path="s", file="file", created_time="i",
                    terminated_time="i", working_directory="s", user="user", sandbox="s",
                    parent_process="process"),
    "file": dict(name="s!", type_id="i!", path="s", type="s", size="i", hashes="[fingerprint]"),
    "fingerprint": dict(algorithm_id="i!", value="s!", algorithm="s"),
    "network_endpoint": dict(ip="s", port="i", name="s", hostname="s", uid="s"),
    "network_connection_info": dict(direction_id="i!", protocol_name="s", protocol_num="i",
                                    protocol_ver_id="i"),
    "network_traffic": dict(bytes="i", bytes_in="i", bytes_out="i", packets="i", packets_in="i",
                            packets_out="i"),
    "dns_query": dict(hostname="s!", type="s"),
    "finding_info": dict(uid="s!", title="s", desc="s", analytic="analytic"),
    "analytic": dict(type_id="i!", name="s"),
    "evidences": dict(process="process", data="j", file="file"),
}
ONE_OF = {"process": {"pid", "uid", "cpid"}, "user": {"name", "uid"},
          "actor": {"process", "user", "session", "app_name", "app_uid"},
          "network_endpoint": {"ip", "uid", "name", "hostname"},
          "evidences": {"process", "data", "file"}}
ENUMS = {"severity_id": {0, 1, 2, 3, 4, 5, 6, 99}, "launch_type_id": {0, 1, 2, 3, 99},
         "action_id": {0, 1, 2, 3, 4, 99}, "direction_id": {0, 1, 2, 3, 4, 99},
         "protocol_ver_id": {0, 4, 6, 99}}
STATUS = {2004: set(range(0, 7)) | {99}}
TYPES = {"i": int, "s": str, "b": bool}


def fail(path, why):
    raise ValueError("%s: %s" % (path, why))


def check_value(path, value, kind):
    kind = kind.rstrip("!")
    if kind == "j":
        return
    if kind.startswith("["):
        if not isinstance(value, list) or not value:
            fail(path, "no list, or an empty one")
        for i, item in enumerate(value):
            check_value("%s[%d]" % (path, i), item, kind[1:-1])
    elif kind in TYPES:
        if type(value) is not TYPES[kind]:
            fail(path, "of another type: %r" % (value,))
        if kind == "i" and not -2**63 <= value < 2**63:
            fail(path, "no number of 64 bits")
    else:
        check_object(path, value, OBJECTS[kind])
        if kind in ONE_OF and not ONE_OF[kind] & set(value):
            fail(path, "has none of %s" % sorted(ONE_OF[kind]))


def check_object(path, value, fields):
    if not isinstance(value, dict):
        fail(path, "no object")
    for name, kind in fields.items():
        if kind.endswith("!") and name not in value:
            fail(path, "%s is missing" % name)
    for name, member in value.items():
        if name not in fields:
            fail(path, "%s is unknown" % name)
        if member is None:
            fail(path + "." + name, "null")
        check_value(path + "." + name, member, fields[name])
        if name in ENUMS and member not in ENUMS[name]:
            fail(path + "." + name, "not in the enumeration: %r" % (member,))


def check(event):
    uid = event["class_uid"]
    activities, fields = CLASSES[uid]
    check_object("event", event, fields)
    if event["activity_id"] not in activities:
        fail("activity_id", event["activity_id"])
    if event["activity_id"] == 99 and not event.get("activity_name"):
        fail("activity_name", "99 wants a name")
    if event["type_uid"] != uid * 100 + event["activity_id"]:
        fail("type_uid", event["type_uid"])
    if event["category_uid"] != uid // 1000:
        fail("category_uid", event["category_uid"])
    if event.get("status_id", 0) not in STATUS.get(uid, {0, 1, 2, 99}):
        fail("status_id", event["status_id"])
    if event["metadata"]["version"] != "1.8.0":
        fail("metadata.version", event["metadata"]["version"])
    if not 1_600_000_000_000 < event["time"] < 4_000_000_000_000:
        fail("time", "no milliseconds of our days")
    for end in ("src_endpoint", "dst_endpoint"):
        if not 0 <= event.get(end, {}).get("port", 0) <= 65535:
            fail(end, "port")
    [attestation] = event["unmapped"]["menace_integrity"]["attestation_list"]
    check_value("fingerprint", attestation["fingerprint"], "fingerprint!")
    if len(attestation["fingerprint"]["value"]) != 64:
        fail("fingerprint", "no SHA-256")


def main():
    counts, last, uids = collections.Counter(), {}, set()
    for n, line in enumerate(sys.stdin, 1):
        event = json.loads(line)
        try:
            check(event)
        except (ValueError, KeyError) as e:
            sys.exit("line %d: %s: %s" % (n, e, line))
        counts[event["class_uid"]] += 1
        meta = event["metadata"]
        # In order and without a gap, each run for itself.
        if meta["sequence"] != last.get(meta["correlation_uid"], 0) + 1 or meta["uid"] in uids:
            sys.exit("line %d: sequence or uid" % n)
        last[meta["correlation_uid"]] = meta["sequence"]
        uids.add(meta["uid"])
    print(" ".join("%d:%d" % pair for pair in sorted(counts.items())))


main()
