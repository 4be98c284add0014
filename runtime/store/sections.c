/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of an SQL text
 */
#include "runtime/store/sections.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/error.h"

static const char marker[] = "\n--@ ";

bool mr_section_next(const char **at, struct mr_section *ret)
{
	const char *begin = strstr(*at, marker);
	const char *name, *end;
	size_t length;

	if (!begin)
		return false;
	name = begin + strlen(marker);
	length = strcspn(name, "\n");
	mr_assert(length > 0 && length < sizeof(ret->name));
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)length, name);
	ret->text = name + length;
	end = strstr(ret->text, marker);
	ret->size = end ? (size_t)(end - ret->text) : strlen(ret->text);
	*at = ret->text + ret->size;
	return true;
}

bool mr_section_find(const char *text, const char *name, struct mr_section *ret)
{
	while (mr_section_next(&text, ret))
		if (strcmp(ret->name, name) == 0)
			return true;
	return false;
}
