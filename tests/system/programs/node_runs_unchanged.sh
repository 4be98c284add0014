#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Node with workers, child processes, timers, files and crypto, without a denial
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program node

cat >"$tmp/a.js" <<'END'
const fs = require('fs'), cp = require('child_process'), crypto = require('crypto');
const { Worker } = require('worker_threads');
console.log('math', [1, 2, 3].map(x => x * x).join());
fs.writeFileSync('file', 'text');
console.log('file', fs.readFileSync('file', 'utf8'));
console.log('child', cp.execSync('echo a | tr a b').toString().trim());
console.log('hash', crypto.createHash('sha256').update('').digest('hex').slice(0, 8));
new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true })
	.on('message', m => {
		console.log('worker', m);
		setTimeout(() => console.log('timer'), 5);
	});
END
run "$tmp/a.js"
assert_status 0
assert_eq "$stdout" "math 1,4,9
file text
child b
hash e3b0c442
worker 42
timer"
assert_eq "$(json .denials.total)" 0 "denials"
