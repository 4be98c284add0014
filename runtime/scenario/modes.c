/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes: FAILURE_MODES in all the forms it is written in
 */
#include "runtime/scenario/modes.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

static bool has(const json_t *modes, const char *name)
{
	for (size_t i = 0; i < json_array_size(modes); i++)
		if (strcmp(json_string_value(json_array_get(modes, i)), name) == 0)
			return true;
	return false;
}

static void add_name(json_t *modes, const char *text, size_t n)
{
	static const char space[] = " \t\n\v\f\r";
	mr_auto_free char *name = NULL;

	while (n > 0 && strchr(space, text[0])) {
		text++;
		n--;
	}
	while (n > 0 && strchr(space, text[n - 1]))
		n--;
	name = mr_str_ndup(text, n);
	if (name[0] && strcmp(name, "none") != 0 && !has(modes, name))
		json_array_append_new(modes, json_string(name));
}

void mr_modes_add(json_t *modes, json_t *value)
{
	const char *text = json_string_value(value);

	while (text) {
		size_t n = strcspn(text, ",");

		add_name(modes, text, n);
		text = text[n] ? text + n + 1 : NULL;
	}
	for (size_t i = 0; i < json_array_size(value); i++)
		mr_modes_add(modes, json_array_get(value, i));
}

json_t *mr_modes_json(json_t *modes)
{
	return json_array_size(modes) == 1 ? json_incref(json_array_get(modes, 0))
					   : json_incref(modes);
}

bool mr_modes_has(const json_t *preset, const char *mode)
{
	mr_auto_json json_t *modes = json_array();

	mr_modes_add(modes, json_object_get(preset, "FAILURE_MODES"));
	return has(modes, mode);
}
