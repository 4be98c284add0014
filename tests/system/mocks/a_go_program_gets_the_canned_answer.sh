#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A static program of Go, with its own resolver and its own TLS, gets the canned answers
# lane: soak (needs Go, which is 450 MB)

. "${0%/*}/../../lib/system.sh"
. "$repo/tests/lib/mocks.sh"

need_system_program go

cat >"$tmp/get.go" <<'END'
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	for _, url := range os.Args[1:] {
		answer, err := http.Get(url)
		if err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		io.Copy(os.Stdout, answer.Body)
		answer.Body.Close()
	}
}
END
mkdir -m 777 "$tmp/w" "$tmp/built"
cp "$tmp/get.go" "$tmp/w"
run -p build --workspace "$tmp/w" --keep-changes "$tmp/out" -e CGO_ENABLED=0 -e GOCACHE=/tmp/cache -- \
	go build -o get get.go
assert_status 0

printf 'canned\n' >"$tmp/answer"
mocks=(--mock "http://api.example/a=@$tmp/answer" --mock "https://api.example/a=@$tmp/answer")
stub "${mocks[@]}" --ro "$tmp/out/get:/get" -- /get http://api.example/a https://api.example/a
assert_status 0
assert_eq "$stdout" $'canned\ncanned'
assert_eq "$(mock http://api.example/a hits) $(mock https://api.example/a hits)" "1 1"
assert_eq "$(denials)" ""

# Nothing but the canned names and nobody's other certificate.
stub "${mocks[@]}" --ro "$tmp/out/get:/get" -- /get https://other.example/a
assert_status 1
assert_contains "$stderr" "other.example"
stub "${mocks[@]}" --ro "$tmp/out/get:/get" -e SSL_CERT_FILE=/dev/null -e SSL_CERT_DIR=/tmp -- \
	/get https://api.example/a
assert_status 1
assert_contains "$stderr" "certificate signed by unknown authority"
