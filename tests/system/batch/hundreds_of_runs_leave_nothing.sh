#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Three hundred runs through reused slots leave no more than a few dozen: what each run left a little of is seen
#
# lane: soak (the number of runs is the point)
# security

# shellcheck disable=SC2034 # for what is read here
runs=300
. "${0%/*}/runs_in_reused_slots_leave_nothing.sh"
