#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a command of the caller prints is the answer to a request, over HTTP and HTTPS; the request
# reaches it as input and as variables and never as a part of its words; and a command that gives no
# answer is a 502 whose reason is in the result

# shellcheck disable=SC2016 # nothing of all this is to be expanded

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program curl

# It says what it was given.
cat >"$tmp/say.sh" <<'END'
#!/bin/sh
printf 'Status: 203\nContent-Type: text/say\n\n'
printf '[%s]' "$#" "$@"
printf '\n'
env | grep ^MENACE_ | sort
sed 's/\r$/|/'
END
chmod +x "$tmp/say.sh"
cd "$tmp" || fail "no $tmp"
stub --mock 'https://api.example/*=header:X-Y:z,status:200,exec:./say.sh "a  b" $HOME`id` '\''c'\' -- \
	curl -sS -i -H 'X-Evil: $(touch /tmp/evil); `id`' -d 'body=1' 'https://api.example/p?q=$(id);%0a&`x`'
assert_status 0
said=$(sed 's/\r$//; /^User-Agent:/d; /^Content-Length: .*[0-9]$/d' "$tmp/stdout")
assert_eq "$said" 'HTTP/1.1 203 Unknown
Content-Type: text/say
X-Y: z

[3][a  b][$HOME`id`][c]
MENACE_BODY_BYTES=6
MENACE_HOST=api.example
MENACE_METHOD=POST
MENACE_MOCK=https://api.example/*
MENACE_PATH=/p
MENACE_PORT=443
MENACE_QUERY=q=$(id);%0a&`x`
MENACE_URL=https://api.example/p?q=$(id);%0a&`x`
POST /p?q=$(id);%0a&`x` HTTP/1.1|
Host: api.example|
Accept: */*|
X-Evil: $(touch /tmp/evil); `id`|
Content-Length: 6|
Content-Type: application/x-www-form-urlencoded|
|
body=1' "what the command was given"
[ ! -e /tmp/evil ] || fail "a header was run"
assert_eq "$(mock 'https://api.example/*' 'exec | tojson')" \
	'{"command":["./say.sh","a  b","$HOME`id`","c"],"failed":0,"failures":{},"runs":1}'

# A list of words is taken as it is; a body of any bytes comes through.
cat >"$tmp/spec.json" <<'END'
{"schema": "menace.spec/1", "program": ["sh", "-c", "curl -sS http://a.example/ | od -An -tx1; curl -sS -i http://b.example:81/"],
 "net": {"mode": "stub"},
 "network_mocks": {"a.example": {"exec": ["printf", "\\000\\377 %s", "a 'b"], "type": "x/y"},
	"b.example:81": "within:20s,type:text/b,exec:printf hello"}}
END
run -q -t "$(scaled 60)" --spec "$tmp/spec.json"
assert_status 0
assert_contains "$stdout" " 00 ff 20 61 20 27 62"
assert_contains "$stdout" "Content-Type: text/b"
assert_contains "$stdout" hello
run_plain "$MENACE_RUN" --spec "$tmp/spec.json" --dry-run
assert_eq "$(jq -c '.spec.network_mocks | [.["a.example"].exec, .["b.example:81"].exec, .["b.example:81"].within]' "$tmp/stdout")" \
	'[["printf","\\000\\377 %s","a '\''b"],["printf","hello"],"20s"]' "the request as it was read"

# What Host says is another matter than what it is put into.
stub --mock 'http://a.example/*=exec:./say.sh' -- sh -c '
printf "GET /x HTTP/1.1\r\nHost: \$(id)\r\n\r\n" | timeout 60 curl -sS telnet://a.example:80 | head -n 1
printf "GET /x HTTP/1.1\r\nHost: other.example\r\n\r\n" | timeout 60 curl -sS telnet://a.example:80 | head -n 1'
assert_eq "$(tr -d '\r' <"$tmp/stdout")" "HTTP/1.1 400 Bad Request
HTTP/1.1 421 Misdirected Request" "answers to another Host"
assert_eq "$(mock 'http://a.example/*' 'exec.runs')" 0 "runs for another Host"

# A mock that fails by itself runs nothing, and a delay is not the command's.
stub --mock 'a.example=fail:503,exec:printf x' -- curl -sS -o /dev/null -w '%{http_code}' http://a.example/
assert_eq "$stdout $(mock a.example exec.runs) $(mock a.example failures)" "503 0 1"
stub --mock 'a.example=delay:300ms,exec:printf x' -- curl -sS -w ' %{time_starttransfer}' http://a.example/
assert_match "$stdout" '^x 0\.[3-9]|^x [1-9]' "an answer that is delayed"

# Of these commands each gives no answer: what it is, the kind, the reason, the action.
touch "$tmp/plain"
mocks=() urls=() kinds=() reasons=() names=()
while IFS='|' read -r name kind reason action; do
	mocks+=(--mock "h${#urls[@]}.example=${action/TMP/$tmp}")
	urls+=("http://h${#urls[@]}.example/")
	names+=("$name") kinds+=("1 1 $kind 1") reasons+=("$reason")
done <<'CASES'
a command that is missing|not_started|^/nosuch/answer: not found|exec:/nosuch/answer
a program that is missing|not_started|^nosuch: not found|exec:nosuch
a file that is no program|not_started|plain: |exec:TMP/plain
a command that fails|status|^exited with status 3: "why\\n"$|exec:sh -c "echo why >&2; exit 3"
a command that is killed|status|^signaled$|exec:sh -c "kill -9 $$"
a command that is slow|time|^wall_timeout$|within:200ms,exec:sleep 100
a command that says too much|output|^output_limit$|within:100s,exec:head -c 1100000 /dev/zero
a command that needs too much|limit|^oom$|within:100s,exec:tail /dev/zero
a header of ours|no_answer|this header is the responder.s own|exec:printf "Status: 200\\nContent-Length: 5\\n\\nx"
a split answer|no_answer|printable ASCII|exec:printf "Status: 200\\nX: a\\rY: b\\n\\nx"
CASES
stub "${mocks[@]}" -- curl -sS -w ' %{http_code}\n' "${urls[@]}"
assert_status 0
assert_eq "$stdout" "$(for _ in "${urls[@]}"; do echo $'menace-run: the command of this mock gave no answer\n 502'; done)" "answers"
mapfile -t told < <(json '.network.mocks | sort_by(.target)[] | .exec | "\(.runs) \(.failed) \(.failures | keys[0]) \(.failures[].count)",
	.failures[].last')
for i in "${!names[@]}"; do
	assert_eq "${told[2 * i]}" "${kinds[i]}" "${names[i]}"
	assert_match "${told[2 * i + 1]}" "${reasons[i]}" "${names[i]}: reason"
done
run -t "$(scaled 60)" --net stub --mock 'a.example=exec:nosuch' -- curl -sS -o /dev/null http://a.example/
assert_eq "$stderr" "menace-run: mock a.example: its command gave no answer 1 times (not_started): nosuch: not found in the sandbox"

# A body that is too large for a command is refused before it is sent.
head -c 262145 /dev/zero >"$tmp/large"
head -c 262144 /dev/zero >"$tmp/fits"
stub --mock 'a.example=exec:wc -c' --ro "$tmp/large:/large" --ro "$tmp/fits:/fits" -- sh -c '
curl -sS -o /dev/null -w "%{http_code}\n" --data-binary @/large http://a.example/
curl -sS -o /dev/null -w "%{http_code}\n" -H "Transfer-Encoding: chunked" --data-binary @/large http://a.example/
curl -sS -o /dev/null -w "%{http_code}\n" --data-binary @/fits http://a.example/
curl -sS -o /dev/null -w "%{http_code}\n" -H "Transfer-Encoding: chunked" --data-binary @/fits http://a.example/'
assert_eq "$stdout" "413
413
200
200"
assert_eq "$(mock a.example exec.runs)" 2 "runs of bodies"
