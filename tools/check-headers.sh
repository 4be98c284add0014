#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each header compiles alone
#
#   tools/check-headers.sh [BUILD]      BUILD holds generated headers (default build)
#
# Prints what the compiler says of those that do not, and exits 1.

cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
failed=0

for header in $(find runtime cgroups netns bpf tools tests -name '*.h' 2>/dev/null | sort); do
	case $header in bpf/*.bpf.h) continue ;; esac
	printf '#include "%s"\n' "$header" |
		gcc -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wundef -Werror -I. -I"$build" \
			-fsyntax-only -x c - || {
		echo "$header does not compile alone"
		failed=1
	}
done
exit $failed
