/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combined: all steps of a workflow as one run in one sandbox
 *
 * What the steps leave behind, for each other too, is seen there and nowhere else.
 */
#pragma once

struct json_t;
struct mr_error;
struct mr_flow;

/* The request, new reference.  Returns 1 when the steps cannot share one sandbox; *ret_why
 * (malloc'd) says what is in the way.  Times are the sums of the steps', other limits the widest. */
int mr_flow_combine(const struct mr_flow *flow, const char *stage, struct json_t **ret,
		    char **ret_why, struct mr_error *err);
