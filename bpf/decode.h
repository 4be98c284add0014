/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode: a record of a ring into an event
 *
 * The kernel writes the record, but the program under test has its hand in much of
 * it: nothing is believed that is not checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_event;
struct mr_event_module;

/* 0 and *ret, which borrows text from the record and modules (MR_EVENT_MODULES_MAX).  1: a record of another run than the one with
 * this generation (0: of any).  -EPROTO: no record of ours. */
int mr_decode(const void *record, size_t size, uint64_t generation, struct mr_event *ret,
	      struct mr_event_module *modules, struct mr_error *err);
