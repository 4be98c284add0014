/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event: names of the types
 */
#include "runtime/base/event.h"

static const char *const names[] = {
#define EVENT(name, help) #name,
#include "runtime/base/events.def"
#undef EVENT
};
static const char *const helps[] = {
#define EVENT(name, help) help,
#include "runtime/base/events.def"
#undef EVENT
};

const char *mr_event_name(enum mr_event_type type)
{
	return names[type];
}

const char *mr_event_help(enum mr_event_type type)
{
	return helps[type];
}
