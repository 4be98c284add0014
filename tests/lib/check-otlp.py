#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Are the lines of standard input bodies of OTLP requests, with every number that the database has
# and no other?
#
#   check-otlp.py DATABASE [metrics|logs]

import collections
import json
import re
import sqlite3
import sys

# column -> metric, attribute, divisor
METRICS = {
    "cpu_user_us": ("process.cpu.time", "user", 1e6), "cpu_system_us": ("process.cpu.time", "system", 1e6),
    "minor_faults": ("process.paging.faults", "minor", 1),
    "major_faults": ("process.paging.faults", "major", 1),
    "voluntary_switches": ("process.context_switches", "voluntary", 1),
    "involuntary_switches": ("process.context_switches", "involuntary", 1),
    "block_read_bytes": ("process.disk.io", "read", 1), "block_write_bytes": ("process.disk.io", "write", 1),
    "cpu_us": ("menace.run.cpu.time", None, 1e6), "throttled_us": ("menace.run.throttled.time", None, 1e6),
    "stdout_bytes": ("menace.run.output", "stdout", 1), "stderr_bytes": ("menace.run.output", "stderr", 1),
    "denials": ("menace.run.denials", None, 1), "oom_kills": ("menace.run.oom_kills", None, 1),
    "wall_us": ("menace.run.wall.time", None, 1e6), "setup_us": ("menace.run.setup.time", None, 1e6),
    "teardown_us": ("menace.run.teardown.time", None, 1e6),
    "memory_peak_bytes": ("menace.run.memory.peak", None, 1),
    "pids_peak": ("menace.run.processes.peak", None, 1), "exit_status": ("menace.run.exit.status", None, 1),
    "events_lost": ("menace.run.events.lost", None, 1),
}
LOWER_CAMEL = re.compile(r"[a-z][a-zA-Z]*")
db = sqlite3.connect(sys.argv[1])
db.row_factory = sqlite3.Row


def check_keys(value):
    """Only names that the encoding allows: lowerCamelCase."""
    if isinstance(value, dict):
        for key, member in value.items():
            assert LOWER_CAMEL.fullmatch(key), key
            check_keys(member)
    elif isinstance(value, list):
        for item in value:
            check_keys(item)


def any_value(value):
    if not value:
        return None
    [(kind, inner)] = value.items()
    if kind == "intValue":
        assert isinstance(inner, str) and re.fullmatch(r"-?[0-9]+", inner), value
        return int(inner)
    if kind == "arrayValue":
        return [any_value(v) for v in inner["values"]]
    if kind == "kvlistValue":
        return attributes(inner["values"])
    assert kind in ("stringValue", "boolValue", "doubleValue"), value
    assert isinstance(inner, {"stringValue": str, "boolValue": bool, "doubleValue": (int, float)}[kind])
    return inner


def attributes(pairs):
    result = {}
    for pair in pairs:
        assert set(pair) == {"key", "value"} and pair["key"] not in result, pair
        result[pair["key"]] = any_value(pair["value"])
    return result


def nanoseconds(text):
    assert isinstance(text, str) and re.fullmatch(r"[1-9][0-9]{18}", text), text
    return int(text)


def resource(item):
    result = attributes(item["resource"]["attributes"])
    assert result["service.name"] == "menace" and result["os.type"] == "linux", result
    return result


def points_of(metric):
    assert set(metric) - {"sum", "gauge"} == {"name", "unit", "description"}, metric
    if "sum" in metric:
        assert metric["sum"]["aggregationTemporality"] == 2 and metric["sum"]["isMonotonic"] is True
        return metric["sum"]["dataPoints"]
    return metric["gauge"]["dataPoints"]


def check_metrics(item, runs):
    run = runs.pop(resource(item)["container.id"])
    expected = {METRICS[c][:2]: run[c] / METRICS[c][2] if METRICS[c][2] > 1 else run[c]
                for c in METRICS if run[c] is not None}
    [scope] = item["scopeMetrics"]
    assert scope["scope"] == {"name": "menace", "version": run["version"]}
    names = [m["name"] for m in scope["metrics"]]
    assert len(names) == len(set(names)), names
    for metric in scope["metrics"]:
        for point in points_of(metric):
            assert nanoseconds(point["timeUnixNano"]) == run["stored_real_us"] * 1000
            if "sum" in metric:
                assert nanoseconds(point["startTimeUnixNano"]) == run["started_us"] * 1000
            label = next(iter(attributes(point.get("attributes", [])).values()), None)
            value = expected.pop((metric["name"], label))
            got = int(point["asInt"]) if "asInt" in point else point["asDouble"]
            assert "asInt" not in point or isinstance(point["asInt"], str)
            assert got == value, (metric["name"], label, got, value)
    assert not expected, "missing: %s" % expected


def check_logs(item, logs):
    of_run = resource(item)
    run_id = of_run["container.id"]
    row = db.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    assert of_run["process.command_args"] == json.loads(row["argv"])
    assert of_run["menace.caller.uid"] == row["uid"]
    [scope] = item["scopeLogs"]
    assert 0 < len(scope["logRecords"]) <= 1000
    for record in scope["logRecords"]:
        nanoseconds(record["timeUnixNano"])
        nanoseconds(record["observedTimeUnixNano"])
        assert re.fullmatch(r"[0-9a-f]{32}", record["traceId"]) and record["severityNumber"] in (9, 13)
        logs[run_id][record["eventName"]].append((record, attributes(record["attributes"])))


def check_run_logs(run, logs):
    def count(table, where="1"):
        sql = "SELECT count(*) FROM %s WHERE run_id = ? AND %s" % (table, where)
        return db.execute(sql, (run["run_id"],)).fetchone()[0]

    def real(boot_ns):
        return run["stored_real_us"] * 1000 - (run["stored_boot_ns"] - boot_ns)

    assert len({r["traceId"] for records in logs.values() for r, _ in records}) == 1
    expected = {"run_start": 1, "run_end": 1, "fork": count("processes"),
                "exit": count("processes", "exit_boot_ns IS NOT NULL"),
                "connection": count("connections"), "dns": count("dns"), "change": count("changes"),
                "denial": count("denials"), "limit": count("limits_hit"), "degraded": count("degraded"),
                "oom": int((run["oom_kills"] or 0) > 0), "event": count("events", "type = 'novelty'")}
    for kind in ("exec", "crash", "open", "attempt", "socket", "bind", "sendmsg"):
        expected[kind] = count("events", "type = '%s'" % kind)
    numbers = {"tcp": 6, "udp": 17}
    told = {("%s:%s" % (c["remote"], c["remote_port"]), numbers.get(c["protocol"])) for c in db.execute(
        "SELECT * FROM connections WHERE run_id = ?", (run["run_id"],))}
    expected["connect"] = sum((e["object"], e["protocol"]) not in told for e in db.execute(
        "SELECT object, detail ->> 'protocol' AS protocol FROM events WHERE run_id = ? AND type = 'connect'",
        (run["run_id"],)))
    got = {name[len("menace."):]: len(records) for name, records in logs.items()}
    assert got == {k: v for k, v in expected.items() if v}, (got, expected)
    rows = db.execute("SELECT * FROM events WHERE run_id = ? AND type = 'exec' ORDER BY boot_ns, n",
                      (run["run_id"],)).fetchall()
    for row, (record, found) in zip(rows, logs.get("menace.exec", [])):
        detail = json.loads(row["detail"])
        assert int(record["timeUnixNano"]) == real(row["boot_ns"])
        assert found["process.pid"] == row["tgid"]
        assert found["process.executable.path"] == (detail.get("file") or row["object"])
        assert found["process.command_args"] == detail["argv"]
        assert found["process.parent_pid"] == detail["parent_tgid"]
    denials = db.execute("SELECT * FROM denials WHERE run_id = ?", (run["run_id"],)).fetchall()
    assert sorted((d["layer"], d["what"], d["count"]) for d in denials) == sorted(
        (a["menace.layer"], a["menace.what"], a["menace.count"])
        for _, a in logs.get("menace.denial", []))


def main():
    signals = sys.argv[2:] or ["metrics", "logs"]
    rows = db.execute("""SELECT runs.*, usage.*, (SELECT sum(count) FROM losses
        WHERE losses.run_id = runs.run_id) AS events_lost FROM runs JOIN usage USING (run_id)""").fetchall()
    runs = {row["run_id"]: row for row in rows}
    logs = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in sys.stdin:
        body = json.loads(line)
        check_keys(body)
        [(kind, items)] = body.items()
        assert items and kind in ("resourceMetrics", "resourceLogs")
        assert {"resourceMetrics": "metrics", "resourceLogs": "logs"}[kind] in signals
        for item in items:
            if kind == "resourceMetrics":
                check_metrics(item, runs)
            else:
                check_logs(item, logs)
    assert "metrics" not in signals or not runs, "runs without metrics: %s" % list(runs)
    assert set(logs) == ({row["run_id"] for row in rows} if "logs" in signals else set())
    for row in rows if "logs" in signals else ():
        check_run_logs(row, logs[row["run_id"]])
    print("%d runs" % len(rows))


main()
