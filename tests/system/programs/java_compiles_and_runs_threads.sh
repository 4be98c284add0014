#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# javac and java with threads, in the memory a virtual machine needs
#

. "${0%/*}/../../lib/system.sh"

need_root
need_system_program java javac

mkdir "$tmp/src"
cat >"$tmp/src/A.java" <<'END'
import java.util.concurrent.*;
public class A {
	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		int sum = 0;
		for (Future<Integer> f : pool.invokeAll(java.util.List.<Callable<Integer>>of(() -> 1, () -> 2, () -> 39)))
			sum += f.get();
		pool.shutdown();
		System.out.println("sum " + sum);
		System.exit(7);
	}
}
END
# QEMU before 8.1 may run what a processor has translated of code that another one has written anew, as a
# compiler at run time does: in the machine of the tests all threads are on one.
one=
[ -z "${MENACE_VM-}" ] || one="taskset -c 0"
run -t "$(scaled 60)" -m 1G -p build --workspace "$tmp/src" -- sh -c "$one javac A.java && $one java A"
assert_status 7
assert_eq "$stdout" "sum 42"
assert_eq "$(json .denials.total)" 0 "denials"
assert_eq "$(ls "$tmp/src")" A.java
