/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edge cases: into the files and mocks of a workflow
 */
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/units.h"
#include "runtime/flow/workflow.h"

static const struct edge_case {
	const char *variable, *file, *content, *url, *action;
} edge_cases[] = {
#define EDGE_CASE(variable_, file_, content_, url_, action_) \
	{ variable_, file_, content_, url_, action_ },
#include "runtime/flow/edge_cases.def"
#undef EDGE_CASE
};

const char *mr_flow_edge_case_variable(size_t i)
{
	return i < N_ELEMENTS(edge_cases) ? edge_cases[i].variable : NULL;
}

static int is_on(const struct edge_case *edge, bool *ret, struct mr_error *err)
{
	const char *text = getenv(edge->variable);
	int r;

	*ret = true;
	if (!text || !text[0])
		return 0;
	r = mr_units_parse_flag(text, ret, err);
	return r < 0 ? mr_err_wrap(err, r, "%s", edge->variable) : 0;
}

static void set_missing(json_t *object, const char *key, const char *text)
{
	if (!json_object_get(object, key))
		json_object_set_new(object, key, text ? json_string(text) : json_null());
}

int mr_flow_add_edge_cases(json_t *files, json_t *mocks, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(edge_cases); i++) {
		bool on = true;
		int r = is_on(&edge_cases[i], &on, err);

		if (r < 0)
			return r;
		if (!on)
			continue;
		set_missing(files, edge_cases[i].file, edge_cases[i].content);
		set_missing(mocks, edge_cases[i].url, edge_cases[i].action);
	}
	return 0;
}
