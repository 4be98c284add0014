/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Languages
 *
 * Lookups over languages.def: by name, alias or extension.
 */
#include "runtime/spec/lang.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static const struct mr_lang rows[] = {
#define LANGUAGE(name_, aliases_, extensions_, ...) \
	{ .name = (name_),                          \
	  .aliases = (aliases_),                    \
	  .extensions = (extensions_),              \
	  .argv = { __VA_ARGS__, NULL } },
#include "runtime/spec/languages.def"
#undef LANGUAGE
};

const struct mr_lang *mr_lang_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(rows);
	return rows;
}

/* Is word one of the words of a list divided by spaces? */
static bool list_has(const char *list, const char *word, bool nocase)
{
	size_t length = strlen(word);

	while (*list) {
		size_t n = strcspn(list, " ");
		char one[32];

		if (n == length && n < sizeof(one)) {
			memcpy(one, list, n);
			one[n] = '\0';
			if (nocase ? mr_str_equal_nocase(one, word) : strcmp(one, word) == 0)
				return true;
		}
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

const struct mr_lang *mr_lang_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (mr_str_equal_nocase(rows[i].name, name) ||
		    list_has(rows[i].aliases, name, true))
			return &rows[i];
	return NULL;
}

const struct mr_lang *mr_lang_of_path(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *dot;

	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	if (!dot || dot == base)
		return NULL; /* ".py" is a hidden file without an extension */
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (list_has(rows[i].extensions, dot, false))
			return &rows[i];
	return NULL;
}

int mr_lang_check(const char *name, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];
	char names[256];
	struct mr_str list;

	if (mr_lang_find(name))
		return 0;
	mr_str_init(&list, names, sizeof(names));
	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_str_nearest_offer(&nearest, rows[i].name);
		mr_str_printf(&list, "%s%s", i > 0 ? ", " : "", rows[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown language %s; did you mean \"%s\"?",
			      quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown language %s; accepted: %s", quoted, names);
}
