# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the tests of --net stub share; after system.sh

. "$repo/tests/lib/denials.sh"

need_root

# stub [OPTIONS] -- PROGRAM...: a run whose network is mocks.
stub()
{
	run -q -t "$(scaled 60)" --net stub "$@"
}

# denials: "what object rule" of each row of the network, in order.
denials()
{
	json '.denials.rows[] | select(.layer == "network") | "\(.what) \(.object) [\(.rule)]"'
}

# mock TARGET MEMBER
mock()
{
	gojq -r --arg target "$1" ".network.mocks[] | select(.target == \$target) | .$2" "$result"
}
