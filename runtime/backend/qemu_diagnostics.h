/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics: what is told of every machine, whatever it boots from
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct mr_capture;

/* New references.  Milliseconds; null for 0, which is "never". */
struct json_t *mr_machine_span_json(uint64_t ns);
/* The end of what was said there, as text where it is text; null where nothing was. */
struct json_t *mr_machine_console_json(const struct mr_capture *console);
/* As of waitpid(): the exit status, or the signal as a negative number; null unless has_exit. */
struct json_t *mr_machine_exit_json(bool has_exit, int wait_status);
