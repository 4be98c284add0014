#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Refusals that leave no record are named, by layer and with the reason, and a layer of which
# nothing is recorded has no number
# security

. "${0%/*}/../../lib/system.sh"

unseen()
{
	json '.denials.unseen | map(.layer + ": " + .what) | join("\n")'
}

run -- true
assert_status 0
assert_eq "$(unseen)" "seccomp: system calls answered with ENOSYS
mount: files that could not be opened or changed
landlock: what Landlock refused
limits: what a limit refused"
assert_eq "$(json '.denials.by_layer | tojson')" \
	'{"landlock":null,"limits":null,"mount":null,"network":0,"seccomp":0}' "by layer"
assert_eq "$(json '.denials.unseen | all(.why | length > 20)')" true "reasons"

# What is watched is counted.
run --net loopback --explain-denials --level 2 -- dash -c '(: </etc/shadow) 2>/dev/null; exit 0'
assert_eq "$(unseen)" "seccomp: system calls answered with ENOSYS
network: what is sent to groups (multicast, broadcast)
mount: changes by other calls than those that open
limits: what a limit refused"
assert_eq "$(json '.denials.by_layer | tojson')" \
	'{"landlock":0,"limits":null,"mount":1,"network":0,"seccomp":0}' "by layer"
