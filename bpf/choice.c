/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice
 *
 * A name stands for all rows that have it: the ways to one fact.
 */
#include "bpf/choice.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static uint64_t rows_called(const char *name)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			found |= 1ULL << i;
	return found;
}

static uint64_t rows_of_level(enum mr_probe_level level)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].level <= level)
			found |= 1ULL << i;
	return found;
}

uint64_t mr_probe_hooks(void)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == MR_PROBE_CGROUP)
			found |= 1ULL << i;
	return found;
}

static int refuse_name(const char *name, struct mr_error *err)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;

	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < n; i++)
		mr_str_nearest_offer(&nearest, rows[i].name);
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown probe %s; did you mean %s?", quoted,
			      nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown probe %s; menace-run(1) lists them",
		      quoted);
}

/* One "+NAME" or "-NAME". */
static int take_switch(struct mr_probe_choice *c, const char *text, uint64_t *met,
		       struct mr_error *err)
{
	uint64_t found;

	if (text[0] != '+' && text[0] != '-') {
		char quoted[MR_STR_QUOTE_SIZE];

		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s; accepted: +PROBE and -PROBE with commas between",
			      mr_str_quote(quoted, sizeof(quoted), text));
	}
	found = rows_called(text + 1);
	if (!found)
		return refuse_name(text + 1, err);
	if (*met & found)
		return mr_err(err, MR_E_USAGE, EINVAL, "probe %s is switched twice", text + 1);
	*met |= found;
	if (text[0] == '+')
		c->on |= found;
	else
		c->off |= found;
	return 0;
}

int mr_probe_choose(enum mr_probe_level level, const char *switches, struct mr_probe_choice *ret,
		    struct mr_error *err)
{
	struct mr_probe_choice c = { .level = level, .rows = rows_of_level(level) };
	uint64_t met = 0;
	int r = 0;

	while (r == 0 && *switches) {
		size_t n = strcspn(switches, ",");
		mr_auto_free char *one = mr_str_ndup(switches, n);

		r = take_switch(&c, one, &met, err);
		switches += n;
		if (*switches == ',' && *++switches == '\0' && r == 0)
			r = mr_err(err, MR_E_USAGE, EINVAL, "nothing is behind the last comma");
	}
	c.rows = (c.rows | c.on) & ~c.off;
	if (r == 0)
		*ret = c;
	return r;
}
