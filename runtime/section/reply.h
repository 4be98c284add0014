/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reply: what is told of one file, held against the file
 *
 * Whoever parsed it had hostile text before him, and what was kept of it lay in a file: neither is
 * believed.  After the check a reply has the members that extract.py tells, each of its kind and
 * length, and no other; lines that are in the file; and the hashes that they have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/json.h"

/* reply: {"sections"} or {"error"}; data: of the file, size bytes. */
bool mr_section_reply_fits(const json_t *reply, const char *data, size_t size);
