#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Appends a record to a spool that has rows of every table, with names as a hostile program would
# choose them
#
#   make-record.py SPOOL RUN_ID [ARGUMENT_BYTES]

import hashlib
import json
import sys

NASTY = "a\nb\r\tc|=\\\"'\x1b[31m\x7f\u009b31m\u202e\u00e9 {}<>$\u2028CEF:0|"


def record(run_id, size):
    argv = ["prog\nram", NASTY, "", "x" * size]
    boot = 5_000_000_000_000
    process = {"tgid": 100, "start_boot_ns": boot + 1, "parent_tgid": 99, "parent_start_boot_ns": boot,
               "comm": NASTY[:15], "exe": "/usr/bin/" + NASTY, "argv": argv, "argv_bytes": size,
               "argv_truncated": 0, "cwd": "/" + NASTY, "uid": 65534, "execs": 1,
               "exit_boot_ns": boot + 900_000_000, "exit_code": 7, "rss_peak_bytes": 4096}

    def event(ns, kind, **more):
        row = {"boot_ns": boot + ns, "type": kind, "tgid": 100, "start_boot_ns": boot + 1, "tid": 100,
               "comm": NASTY[:15]}
        row.update(more)
        return row

    events = [
        event(2, "exec", object="/usr/bin/" + NASTY,
              detail={"argv": argv, "parent_tgid": 99, "fileless": False}),
        event(3, "connect", object="127.0.0.1:80", detail={"family": 2, "kind": 1, "protocol": 6}),
        event(4, "bind", object="[::1]:53", detail={"family": 10, "kind": 2, "protocol": 17}),
        event(5, "socket", detail={"family": 1, "kind": 1, "protocol": 0}),
        event(6, "sendmsg", object="10.0.0.1:9", detail={"family": 2, "kind": 2, "protocol": 17}),
        event(7, "crash", object="SEGV", detail={"signal": 11, "si_code": 1, "address": "0x0",
                                                 "frames": ["0x1", "0x2"]}),
        event(3, "connect", object="192.0.2.1:443", detail={"family": 2, "kind": 1, "protocol": 6}),
        event(4, "connect", object="192.0.2.1:443", detail={"family": 2, "kind": 2, "protocol": 17}),
        event(8, "open", object="/etc/" + NASTY, detail={"flags": 1}),
        event(8, "attempt", object="setuid", detail={"nr": 105}),
        event(8, "novelty", object=NASTY, detail={"depth": {"a": [1, 2.5, None, True]}}),
    ]
    connections = [
        {"boot_ns": boot + 10, "tgid": 100, "start_boot_ns": boot + 1, "family": "inet",
         "protocol": "tcp", "direction": "out", "local": "10.0.0.2", "local_port": 40000,
         "remote": "192.0.2.1", "remote_port": 443, "verdict": verdict, "errno": errno,
         "tx_bytes": 9007199254740993, "rx_bytes": 0, "tx_packets": 3}
        for verdict, errno in (("allowed", None), ("denied", 1), ("failed", 111), ("other", None))
    ] + [{"family": "unix", "direction": "in", "local": "/run/" + NASTY, "verdict": "allowed"}]
    telemetry = {
        "complete": False, "usage": {"cpu_us": 5, "own_cpu_ns": 7}, "processes": [process],
        "events": events, "counters": {"forks": 3, "execs": 2, "packets_in": 4, "packet_bytes_in": 50},
        "dns": [{"boot_ns": boot + 20, "tgid": 100, "start_boot_ns": boot + 1, "name": NASTY,
                 "type": "AAAA", "transport": "udp", "server": "192.0.2.53"}],
        "losses": [{"type": "exec", "reason": "ring full", "count": 6}],
    }
    # A run has either rows of connections or events of them.
    if run_id.endswith("c"):
        telemetry["connections"] = connections
    result = {
        "schema": "menace.result/1", "run_id": run_id, "name": NASTY, "version": "0.1|0", "reason": "oom",
        "started_at": "2026-11-28T03:19:46.570847Z", "exit": {"status": 137, "code": None, "signal": 9},
        "oom": {"kills": 2, "level": "run"},
        "usage": {"wall_us": 1234567, "cpu": {"usage_us": 1500, "user_us": 1000, "system_us": 500},
                  "memory": {"peak_bytes": 9007199254740993},
                  "page_faults": {"minor": 12, "major": 0}},
        "timings": {"setup_us": 2500, "steps": []},
        "limits": {}, "limits_hit": ["memory"],
        "receipt": {"verified_before_start": True, "seccomp": {"state": "enforced"},
                    "degraded": [{"item": "cgroup\n", "why": NASTY}]},
        "denials": {"total": 9, "dropped": 0, "rows": [
            {"layer": layer, "what": NASTY, "object": NASTY, "errno": {"number": 1, "name": "EPERM"},
             "pid": 100, "comm": NASTY[:15], "rule": NASTY, "reason": NASTY, "allow": NASTY, "count": 3,
             "first_ns": boot + 30} for layer in ("seccomp", "network", "mount", NASTY)]},
        "workspace": {"changes": {"left_out": 0, "entries": [
            {"kind": kind, "path": NASTY + "/" + NASTY, "type": what, "size": 3, "sha256": "ab" * 32}
            for kind, what in (("added", "file"), ("modified", "file"), ("deleted", "dir"),
                               ("type_changed", "symlink"), ("metadata", "fifo"),
                               ("unreadable", "device"))]}},
        "telemetry": telemetry,
    }
    return {"schema": "menace.record/1", "run_id": run_id, "program": "/bin/" + NASTY, "argv": argv,
            "argv_bytes": size, "argv_truncated": False, "host": NASTY, "kernel": "6.18", "uid": 1000,
            "stored_boot_ns": boot + 1_000_000_000, "stored_real_us": 1_795_836_000_000_000,
            "result": result}


def main():
    payload = json.dumps(record(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1)).encode()
    digest = hashlib.sha256(payload).hexdigest()
    with open(sys.argv[1], "ab") as spool:
        spool.write(b"\nmr1 %d %s " % (len(payload), digest.encode()) + payload + b"\n")


main()
