/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event: names of the types, and of places
 */
#include "runtime/base/event.h"

#include <string.h>

static const char *const type_names[] = {
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
	return type_names[type];
}

const char *mr_event_help(enum mr_event_type type)
{
	return helps[type];
}

void mr_event_path(const char *names, size_t bytes, char *ret)
{
	size_t at = bytes, out = 0;

	while (at) {
		size_t end = --at;

		while (at && names[at - 1] != '\0')
			at--;
		ret[out++] = '/';
		memcpy(ret + out, names + at, end - at);
		out += end - at;
	}
	ret[out] = '\0';
}
