#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Who may include whom
#
# Judges each #include "folder/..." of the product's folders by tools/layers.txt,
# and each third-party header by the list below of the files that own it (tests may
# include any).  Silent when all is well; otherwise a line for each offence and exit 1.

cd "$(dirname "$0")/.." || exit 1

# header pattern (awk) <TAB> files (awk pattern) that may include it
export owners='^seccomp\.h$	^tests/
^sys/capability\.h$	^runtime/launch/caps\.c$
^netlink/	^netns/
^bpf/	^bpf/
^sqlite3\.h$	^runtime/store/
^sodium\.h$	^runtime/store/sign\.c$
^curl/	^runtime/(backend|export)/
^microhttpd\.h$	^runtime/service/http\.c$
^jansson\.h$	^runtime/base/json\.[ch]$
^(md5|sha|sha2|sha256|sha512)\.h$	^runtime/base/hash\.c$
^openssl/	^netns/stub_tls\.c$
^cmocka\.h$	^tests/'

folders=$(sed -n 's/:.*//p' tools/layers.txt)
for folder in $folders tests; do
	[ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
done | sort -u | xargs -r awk '
function complain(what) { print FILENAME ":" FNR ": " what; failed = 1 }

# The layer a path lies in: the longest folder of the table in front of it.
function layer_of(path,    layer, best) {
	for (layer in allowed)
		if (index(path, layer "/") == 1 && length(layer) > length(best))
			best = layer
	return best
}

function judge_own(from, path,    to) {
	to = layer_of(path)
	if (path !~ /\//)
		complain("\"" path "\": includes are from the root of the repository")
	else if (to != "" && from != "" && to != from && index(allowed[from], " " to " ") == 0)
		complain(from " may not include " path)
}

function judge_foreign(header,    i) {
	for (i = 1; i <= n_owners; i++)
		if (header ~ owned[i] && FILENAME !~ owner[i] && FILENAME !~ /^tests\//)
			complain("<" header "> belongs to " owner[i])
}

BEGIN {
	while ((getline line < "tools/layers.txt") > 0) {
		split(line, side, ":")
		allowed[side[1]] = side[2] " "
	}
	n_owners = split(ENVIRON["owners"], rows, "\n")
	for (i = 1; i <= n_owners; i++) {
		split(rows[i], cell, "\t")
		owned[i] = cell[1]
		owner[i] = cell[2]
	}
}

FNR == 1 { from = layer_of(FILENAME) }
/^[ \t]*#[ \t]*include[ \t]*"/ { split($0, part, "\""); judge_own(from, part[2]) }
/^[ \t]*#[ \t]*include[ \t]*</ { split($0, part, /[<>]/); judge_foreign(part[2]) }
END { exit failed }
'
