#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# go run with goroutines
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program go

cat >"$tmp/a.go" <<'END'
package main

import "fmt"

func main() {
	c := make(chan int)
	for i := 0; i < 3; i++ {
		go func(i int) { c <- i * 14 }(i)
	}
	fmt.Println(<-c + <-c + <-c)
}
END
run -p build --ro "$tmp/a.go:/a.go" -e GOCACHE=/tmp/cache -- go run /a.go
assert_status 0
assert_eq "$stdout" 42
assert_eq "$(json .denials.total)" 0 "denials"
