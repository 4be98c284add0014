#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Several files that stop the parser, and large ones on which careless work would take minutes, cost no other file its
# place
#
# lane: soak (the parser has 20 seconds for each)

# shellcheck disable=SC2034 # for what is read here
killers=2 size=10
. "${0%/*}/files_that_stop_the_parser_cost_no_other_its_place.sh"
