/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace flow: its verbs that have a file of their own
 */
#pragma once

#include "tools/cmd.h"

extern const struct mr_cmd mr_cmd_flow_run;
extern const struct mr_cmd mr_cmd_flow_purge;
