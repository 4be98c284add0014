#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a workflow names lies in its own folder: absolute paths, "..", links and what is no file are refused
# before anything starts, and a mistake is told by its place
#
# sanitizers
# security

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/store.sh"

mkdir -p "$tmp/w/sub" "$tmp/outside"
echo secret >"$tmp/outside/secret"
ln -s "$tmp/outside/secret" "$tmp/w/link"
ln -s "$tmp/outside" "$tmp/w/folder"
mkfifo "$tmp/w/fifo"
echo 'print(1)' >"$tmp/w/sub/x.py"

# try MEMBERS [STEP]: a workflow of one step with these.
try()
{
	printf '{"schema": "menace.flow/1", %s "steps": [{"name": "one" %s}]}' "$1" \
		"${2-, \"program\": [\"true\"]}" >"$tmp/w/f.json"
	menace flow show "$tmp/w/f.json"
}
refused()
{
	assert_status 2
	assert_eq "$stdout" ""
	assert_contains "$stderr" "$1"
}

try '"test_data": {"/etc/x": "y"},'
refused 'test_data: "/etc/x" is absolute: path escapes sandbox'
try '"test_data": {"a/../../x": "y"},'
refused '"a/../../x" has ".." in it: path escapes sandbox'
try '"test_data": {"a//x": "y"},'
refused '"a//x" is no path of a file in a folder'
try '"test_data": {"": "y"},'
refused '"" is no path of a file in a folder'
try '"test_data": {"a/": "y"},'
refused '"a/" ends with a slash'
for path in /etc/passwd ../outside/secret link folder/secret fifo sub; do
	try "\"test_data\": {\"x\": {\"file\": \"$path\"}},"
	assert_status 2
	assert_not_contains "$stdout$stderr" secret$'\n'
done
try '"test_data": {"x": {"file": "link"}},'
refused 'test_data.x: "link" is, or is behind, a symbolic link: path escapes sandbox'
try '"test_data": {"x": {"file": "folder/secret"}},'
refused 'is, or is behind, a symbolic link: path escapes sandbox'
try '"test_data": {"x": {"file": "fifo"}},'
refused '"fifo" is no regular file'
try '"source": "folder",'
refused 'source: "folder" is, or is behind, a symbolic link: path escapes sandbox'
try '"source": "..",'
refused '".." has ".." in it: path escapes sandbox'
try '' ', "snippet": {"path": "../outside/secret", "lang": "sh"}'
refused 'steps[0].snippet: "../outside/secret" has ".." in it: path escapes sandbox'
try '' ', "program": ["true"], "network_mocks": {"http://a.test/": "status:200,@/etc/passwd"}'
refused 'steps[0].network_mocks.http://a.test/: @FILE is not taken in a workflow'
for text in '"exec:/root/x"' '"status:200,exec:x"' '"exec:'"'/root/x'"'"'; do
	try '' ', "program": ["true"], "network_mocks": {"http://a.test/": '"$text"'}'
	refused 'steps[0].network_mocks.http://a.test/: exec:COMMAND is not taken in a workflow'
done
for words in '"true"' '["/root/x"]' '["./x"]' '[{"base64": "L3g="}]' '[]'; do
	try '' ', "program": ["true"], "network_mocks": {"http://a.test/": {"exec": '"$words"'}}'
	refused 'steps[0].network_mocks.http://a.test/: in a workflow exec is a list of words'
done
try '' ', "program": ["true"], "network_mocks": {"http://a.test/": {"file": "/etc/passwd"}}'
refused '"/etc/passwd" is absolute: path escapes sandbox'
try '"fs_mocks": {"etc/x": "y"},'
refused 'the path of a mock is absolute, as the program sees it'
try '"fs_mocks": {"/etc/../x": "y"},'
refused 'has ".." in it: path escapes sandbox'
for knob in workspace root keep_changes stdin_path; do
	try "\"sandbox\": {\"$knob\": \"/\"},"
	refused "sandbox.$knob: a workflow does not choose this"
done
try '' ', "program": ["true"], "mounts": []'
refused 'unknown'

# What is in the folder comes into the document, which then needs it no more.
try '' ', "snippet": {"path": "sub/x.py"}'
assert_status 0
assert_eq "$(gojq -c '.steps[0].snippet' <<<"$stdout")" '{"code":"print(1)\n","lang":"python"}'

# Mistakes of other kinds.
try '' ''
refused 'f.json: steps[0] (one): '
try '"limts": {},'
refused 'did you mean'
try '"limits": {"memory_max_bytes": "12x"},'
refused 'steps[0] (one): limits.memory_max_bytes: "12x" is not a size'
cat >"$tmp/w/f.json" <<'END'
{"schema": "menace.flow/1", "name": "none", "steps": []}
END
menace flow show "$tmp/w/f.json"
refused 'f.json: steps: workflow "none" is empty'
cat >"$tmp/w/f.json" <<'END'
{"schema": "menace.flow/1", "steps": [
 {"name": "a", "program": ["true"], "needs": ["c"]}, {"name": "build", "program": ["true"], "needs": ["a"]},
 {"name": "c", "program": ["true"], "needs": ["build"]}]}
END
menace flow show "$tmp/w/f.json"
refused 'f.json: steps: no order: "a" needs "c" needs "build" needs "a"'
sed -i 's/"needs": \["build"\]/"needs": ["biuld"]/' "$tmp/w/f.json"
menace flow show "$tmp/w/f.json"
refused 'steps[2].needs[0]: there is no step "biuld"; did you mean "build"?'
sed -i 's/"name": "c"/"name": "a"/' "$tmp/w/f.json"
menace flow show "$tmp/w/f.json"
refused 'steps[2]: step 0 is called "a", too'
menace flow show "$tmp/none.json"
assert_contains "$stderr" "$tmp/none.json"
assert_ne "$status" 0
