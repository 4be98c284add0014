#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program with a real flaw for each class of the shipped hostile inputs: every class finds its flaw, and
# the same program without them bears every input, by itself and in a matrix
#
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"
need_root
need_system_program python3

# What a flaw does is seen by what became of it, not by what the input looks like.
cat >"$tmp/keep.py" <<'END'
import base64, ctypes, datetime, html, html.parser, json, math, os, sqlite3, struct, sys, tempfile

weak, data = sys.argv[1] == "weak", b""

class Broken(Exception): pass

def text():
    return data.decode("utf-8", "replace")

def injection():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE users (name)")
    db.execute("INSERT INTO users VALUES ('ada')")
    if weak: rows = db.execute("SELECT name FROM users WHERE name = '%s'" % text()).fetchall()
    else: rows = db.execute("SELECT name FROM users WHERE name = ?", (text(),)).fetchall()
    if rows: raise Broken("everybody's rows")

def markup():
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    shown = text() if weak else html.escape(text())
    parser.feed('<p>%s</p><a title="%s">' % (shown, shown))
    if tags != ["p", "a"]: raise Broken("tags of the input: %s" % tags)

def traversal():
    with tempfile.TemporaryDirectory() as base:
        path = os.path.join(base, text())
        if not weak and ("\0" in path or not os.path.realpath(path).startswith(base + "/")): return
        try: got = open(path, "rb").read(100)
        except OSError: return
        raise Broken("read %r" % got)

def structure():
    try: json.loads(text())
    except (ValueError, RecursionError):
        if weak: raise

def type_():
    try: value = json.loads(text())
    except (ValueError, RecursionError): return
    if weak or isinstance(value, dict) and "name" in value: value["name"]

def size():
    buffer = ctypes.create_string_buffer(4096)
    buffer.value = data if weak else data[:4095]

def numeric():
    try: value = float(text())
    except ValueError: return
    if not weak and not (math.isfinite(value) and 1 <= value < 2**31): return
    struct.pack(">i", int(value))
    1 / value

def encoding():
    if (data.decode() if weak else text()) is None: raise Broken

def format_():
    if (text() % ("ada",) if weak else "%s%s" % (text(), "ada")) is None: raise Broken

def nothing():
    if weak or text().replace("\0", "").split(): text().replace("\0", "").split()[0]

def time():
    if text()[4:5] != "-": return
    try: datetime.datetime.fromisoformat(text().replace("Z", "+00:00"))
    except ValueError:
        if weak: raise

parts = {f.__name__.rstrip("_"): f for f in
    (injection, markup, traversal, structure, type_, size, numeric, encoding, format_, nothing, time)}
def breaks(name):
    try: parts[name]()
    except Exception as e: return "%s: %s" % (type(e).__name__, e)

if len(sys.argv) == 2:  # one input, and all parts
    data = sys.stdin.buffer.read()
    for name in sorted(parts): parts[name]()
    sys.exit()
# Of each input a line: its class, its name, what it broke of that class, what it broke of the mended program.
if sys.argv[2] == "classes": sys.exit("\n".join(sorted(parts)))
for line in open(sys.argv[2]):
    row = json.loads(line)
    said, met = row["stdout"], row["failures"][0]
    data = base64.b64decode(said["base64"]) if "base64" in said else said["text"].encode()
    assert len(data) == said["bytes"] and not said["truncated"], met
    weak = True
    found = breaks(met["class"])
    weak = False
    spared = [e for e in map(breaks, sorted(parts)) if e]
    print(met["class"], met["input"], met["fired"], "found" if found else "borne", len(spared), *spared)
END
sed -n 's/^HOSTILE("\([^"]*\)", "\([^"]*\)".*/\2 \1/p' "$repo/runtime/spec/hostile.def" >"$tmp/inputs"
assert_ge "$(wc -l <"$tmp/inputs")" 60 "inputs"
classes=$(cut -d ' ' -f 1 "$tmp/inputs" | sort -u)
assert_eq "$(/usr/bin/python3 "$tmp/keep.py" weak classes 2>&1)" "$classes" "classes with a flaw"

# Each input as a run gets it, and then all of them through the program, in one sandbox.
while read -r class id; do
	printf '{"schema": "menace.spec/1", "program": ["cat"], "failure": {"modes": "hostile_input", "hostile": "%s"}}\n' "$id"
done <"$tmp/inputs" >"$tmp/specs"
run_plain "$MENACE_RUN" --batch -q --set output.head_bytes=2Mi <"$tmp/specs"
assert_status 0
cp "$tmp/stdout" "$tmp/given"
run -t "$(scaled 50)" --ro "$tmp/keep.py:/keep.py" --ro "$tmp/given:/given" -- python3 /keep.py both /given
assert_status 0
cp "$tmp/stdout" "$tmp/judged"
assert_eq "$(cut -d ' ' -f 1,2 "$tmp/judged")" "$(cat "$tmp/inputs")" "class and name of each"
assert_eq "$(cut -d ' ' -f 3,5- "$tmp/judged" | sort -u)" "1 0" "how often it fired, and what it did to the mended program"
declare -A found
while read -r class id _ how _; do
	[ "$how" = borne ] || found[$class]+=" $id"
done <"$tmp/judged"
assert_eq "$(printf '%s\n' "${!found[@]}" | sort)" "$classes" "classes that found their flaw"
# Whoever looks for a flaw of these kinds finds it by these.
for pair in injection:sql-tautology markup:script-tag traversal:path-up traversal:path-absolute traversal:path-proc-root \
	structure:json-deep structure:json-cut type:list-for-object size:run-of-64k numeric:zero numeric:two-to-63 numeric:nan \
	encoding:utf8-surrogate encoding:utf8-overlong format:format-n nothing:empty nothing:blank time:leap-second; do
	assert_contains "${found[${pair%%:*}]} " " ${pair#*:} " "what found the flaw of ${pair%%:*}"
done

# As many replicates as there are classes meet each, and the mended one bears them all; hostile_stubs_find_planted_flaws
# has what a weak one does.
cat >"$tmp/flow.json" <<-END
	{"schema": "menace.flow/1", "name": "mended", "combined": false, "stubs": {"word": {"templates": ["fine"]}},
	 "steps": [{"name": "keep", "snippet": {"path": "keep.py"}, "args": ["mended"], "stdin": "{{stub:word}}"}]}
END
menace scenario run "$tmp/flow.json" --scenarios hostile_input -r 11 -j 2 -s 20 --slo 1h --json
cp "$tmp/stdout" "$result"
assert_eq "$(json '[.cells[] | select(.arm == "on") | .per_copy[0].inputs[0].class] | unique | length')" 11 "classes met"
assert_eq "$(json '[.cells[] | select(.arm == "on") | .verdict] | join(" ")')" \
	"passed passed passed passed passed passed passed passed passed passed passed" "the mended program"
