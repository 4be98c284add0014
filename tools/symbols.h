/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols: names for the frames of a crash
 *
 * Done when somebody looks, not when it happens: the run does not wait for it.  A file
 * that changed since, or was only ever inside of the sandbox, has no names any more.
 */
#pragma once

#include <stdint.h>

struct json_t;

/* Adds to the detail of a crash event "symbols", a list with one object for each of its frames:
 * module (path on this host), module_offset, symbol, symbol_offset, source, line; what is not known
 * is null, and then reason says why.  started_us: when the run began, since 1970.  Past until_ns
 * (CLOCK_BOOTTIME) no file is read any more: whoever made the files may make that slow. */
void mr_symbols_add(struct json_t *detail, int64_t started_us, uint64_t until_ns);
