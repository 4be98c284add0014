/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of plugins: one request on standard input, one reply on standard output, JSON both
 *
 *   request   {"version": 1, "strategy", "count": 1, "seed", "index", "target": {"step", "stub",
 *             "plain"}, "stubs": [an ordinary value]}
 *   reply     {"stubs": [value]}
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;

/* The value, new reference. */
int mr_input_parse_reply(const char *text, size_t size, struct json_t **ret, struct mr_error *err);
