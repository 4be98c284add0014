#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# suggest finds whole words in a module's name and text, says where, and its answer is what generate
# takes
# sanitizers

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/preset.sh"

mkdir -p "$tmp/shop/pay"
cat >"$tmp/shop/pay/__init__.py" <<'END'
"""import flaky"""
import capital, threading_docs
from .wire import (rest_api,  # input
    legacy)
@auth.required("schema")
def f(): pass
CACHE_SIZE: int = 5
END
cd "$tmp" || exit 1

preset suggest --explain --root "$tmp" shop.pay
assert_status 0
assert_eq "$stdout" 'high_latency_api
hostile_input
schema_drift
  "api" in import rest_api (line 3): high_latency_api
  "legacy" in import legacy (line 4): schema_drift
  "auth" in decorator auth (line 5): user_misuse hostile_input
  "cache" in constant CACHE_SIZE (line 7): high_latency_api'
preset suggest --user-misuse shop/pay/__init__.py
assert_eq "$stdout" $'high_latency_api\nuser_misuse\nhostile_input\nschema_drift'
SANDBOX_REPO_PATH=$tmp preset suggest --json shop.pay
assert_eq "$(jq -c '[.profiles, .fallback]' <<<"$stdout")" \
	'[["high_latency_api","hostile_input","schema_drift"],false]'

# Parts of words are nothing, and nothing is all.
preset suggest --explain threading_docs
assert_contains "$stdout" "no word matched, so all profiles are suggested"
assert_contains "$stderr" "threading_docs: there is no such module here; only its name is looked at"
assert_eq "$(grep -c '^[a-z]' <<<"$stdout")" 5
preset suggest shop/none.py
assert_refused "shop/none.py: no such file"

cat >sandbox_settings.yaml <<'END'
other: 1
keyword_profiles:
  pay: [flaky_upstream]   # of ours
  api:
    - concurrency_spike
END
preset suggest shop.pay
assert_eq "$stdout" $'concurrency_spike\nhigh_latency_api\nhostile_input\nschema_drift\nflaky_upstream'
echo 'keyword_profiles: {a: b}' >other.yaml
SANDBOX_SETTINGS_YAML=other.yaml preset suggest shop.pay
assert_refused "other.yaml: line 1: the words are expected on lines of their own"
preset suggest --settings none.yaml shop.pay
assert_refused "none.yaml"

preset suggest shop.pay
# shellcheck disable=SC2086 # words
preset generate -s 1 $stdout
assert_status 0
assert_eq "$(jq length <<<"$stdout")" 5
