/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON, RFC 8785
 *
 * One document, one text: sorted members, no white space, numbers as ECMAScript
 * prints them.  Whole numbers beyond 2^53 become texts, because a reader that
 * holds numbers as doubles would hash something else.
 */
#pragma once

#include <stddef.h>

struct json_t;

/* malloc'd, with a NUL after *ret_size bytes. */
char *mr_canon_text(const struct json_t *json, size_t *ret_size);
/* A finite double as ECMAScript's Number::toString gives it; buf holds MR_CANON_NUMBER_SIZE. */
#define MR_CANON_NUMBER_SIZE 40
const char *mr_canon_number(double value, char *buf);
