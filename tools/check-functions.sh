#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How long functions and files are
#
# Measures the product's C sources with universal-ctags and prints the figures.
# Fails when the median function is over 18 lines, the 90th percentile over 50,
# more than 1 % of them over 100, or any file (tests too) over 800 lines.

cd "$(dirname "$0")/.." || exit 1
tags=$(mktemp) || exit 1
trap 'rm -f "$tags"' EXIT

sources() {
	for folder in "$@"; do
		[ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
	done
}

sources runtime cgroups netns bpf tools | sort |
	ctags -L - --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne -f - --sort=no 2>/dev/null |
	awk -F '\t' '/^[^!]/ {
		for (i = 4; i <= NF; i++) {
			if ($i ~ /^line:/) first = substr($i, 6)
			if ($i ~ /^end:/) last = substr($i, 5)
		}
		print last - first + 1 "\t" $2 ":" first "\t" $1
	}' | sort -n >"$tags"

awk -F '\t' '
{ size[NR] = $1; where[NR] = $2 ": " $3 }
function at(share) { return size[int((NR - 1) * share) + 1] }
END {
	if (NR == 0) {
		print "no function found"
		exit 1
	}
	for (i = 1; i <= NR; i++)
		over += size[i] > 100
	printf "functions: %d, median %d lines, 90th percentile %d, longest %d, over 100: %d (%.1f %%)\n",
		NR, at(0.5), at(0.9), size[NR], over, 100 * over / NR
	for (i = NR; i > NR - 5 && i > 0; i--)
		printf "  %4d  %s\n", size[i], where[i]
	exit at(0.5) > 18 || at(0.9) > 50 || over > NR / 100
}' "$tags"
functions=$?

sources runtime cgroups netns bpf tools tests | sort | xargs -r wc -l | awk '
$2 != "total" { n++; if ($1 > most) { most = $1; name = $2 } }
$2 != "total" && $1 > 800 { printf "%s: %d lines, over 800\n", $2, $1; failed = 1 }
END { printf "files: %d, longest %d lines (%s)\n", n, most, name; exit failed }'
files=$?

[ $functions -eq 0 ] && [ $files -eq 0 ]
