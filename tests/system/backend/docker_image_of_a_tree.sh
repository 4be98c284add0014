#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An image is made of a tree of files, runs as one, and nobody else's is listed, renamed or removed
#
# lane: engine

. "${0%/*}/../../lib/system.sh"
. "${0%/*}/../../lib/docker.sh"

need_engine
need_program jq tar
need_file "$MENACE_HELPERS/show-fds"
start_engine
menace=${MENACE:-${MENACE_RUN%/*}/menace}

# fails STATUS PATTERN COMMAND...: of menace, with this message.
fails()
{
	local want=$1 pattern=$2

	shift 2
	"$menace" "$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	[[ $status,$(cat "$tmp/stderr") == $want,$pattern ]] ||
		fail "$*: $status, $(cat "$tmp/stderr")"
}

tree=$tmp/-tree
mkdir -p "$tree/bin" "$tree/work" "$tree/tmp" "$tree/etc"
cp "$MENACE_HELPERS/show-fds" "$tree/bin/show-fds"
ln -s show-fds "$tree/bin/link"

# Somebody else's.
tar -C "$tree" -c . | curl -s --unix-socket "$engine_dir/sock" -H 'Content-Type: application/x-tar' \
	--data-binary @- -X POST "http://engine/images/create?fromSrc=-&repo=foreign&tag=1" >/dev/null
foreign=$(engine_get /images/foreign:1/json | jq -r .Id)
[[ $foreign == sha256:* ]] || fail "no foreign image can be made"

built=$("$menace" image build --tag tree:1 "$tree") || fail "build: $built"
[[ $built == "tree:1 sha256:"* ]] || fail "build says: $built"
id=${built#* }
for name in tree:1 "$id"; do
	"$MENACE_RUN" -q --backend docker --image "$name" -o "$tmp/result" -- /bin/link >"$tmp/stdout" 2>"$tmp/stderr"
	[ "$?,$(sed -n 's/^1 //p' "$tmp/stdout" | cut -c 1-4),$(jq -r .receipt.container.image "$tmp/result")" = "0,pipe,$id" ] ||
		fail "the image does not run: $(cat "$tmp/stdout" "$tmp/stderr")"
done

# A tar does as well, and has the hash of its bytes as its tag.
tar -C "$tree" -czf "$tmp/tree.tar.gz" .
hash=$(sha256sum "$tmp/tree.tar.gz" | cut -c 1-16)
[[ $("$menace" image build "$tmp/tree.tar.gz") == "menace/image:$hash sha256:"* ]] || fail "a tar is not built"

[ "$("$menace" image list --json | jq -c '[.[]|[.names[0],.kind]]|sort')" = \
	"[[\"menace/image:$hash\",\"built\"],[\"tree:1\",\"built\"]]" ] ||
	fail "list: $("$menace" image list --json)"
"$menace" image list | grep -q '^tree:1 .*built' || fail "list: $("$menace" image list)"

fails 2 '*image foreign:1 is not one that menace built*it stays as it is' image rm foreign:1
fails 2 "*image $foreign is not one that menace built*" image rm "$foreign"
fails 2 '*image foreign:1 is not one that menace built*' image build --tag foreign:1 "$tree"
[ "$(engine_get /images/foreign:1/json | jq -r .Id)" = "$foreign" ] || fail "the foreign image is another"
fails 2 '*image nothing:1: the engine does not have it' image rm nothing:1
fails 2 '*"Tree" is no name of an image*' image build --tag Tree "$tree"
fails 2 '*"a/../b" is no name of an image*' image build --tag a/../b "$tree"
fails 2 '*/nothing: No such file or directory' image build "$tmp/nothing"
fails 2 '*/dev/null: is neither a folder nor a tar' image build /dev/null
echo 'no tar' >"$tmp/garbage"
fails 125 '*image garbage:1: *' image build --tag garbage:1 "$tmp/garbage"

# What was done before a failure is told.
fails 2 '*the 1 before it are removed: image nothing:1: the engine does not have it' image rm tree:1 nothing:1
"$menace" image rm "menace/image:$hash" || fail "rm"
[ "$("$menace" image list --json)" = '[]' ] || fail "left: $("$menace" image list)"
[ "$(engine_get /images/json | jq length)" = 1 ] || fail "the engine has: $(engine_get /images/json)"

export DOCKER_HOST=unix:///nowhere/sock
fails 125 '*GET /version: no answer of the Docker Engine at unix:///nowhere/sock: *' image list
