/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts
 *
 * /proc/self/cgroup names our group in every hierarchy, as seen from our cgroup
 * namespace; mountinfo says which part of a hierarchy each mount shows (its
 * root).  A mount is of use when our own group lies below that root; the first
 * such mount wins.  A group outside the namespace shows as "/../x" and is never
 * of use.
 *
 * Lines are "ID:CONTROLLERS:PATH" there and, here,
 * "36 35 98:0 ROOT POINT OPTIONS [TAG]... - TYPE SOURCE SUPER-OPTIONS".
 */
#include "cgroups/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

/* Part of a text, not terminated. */
struct word {
	const char *text;
	size_t size;
};

static bool word_is(struct word w, const char *text)
{
	return w.size == strlen(text) && memcmp(w.text, text, w.size) == 0;
}

/* Cut the next word off *rest, which ends at `end`. */
static struct word next_word(const char **rest, const char *end, char separator)
{
	const char *start = *rest;
	const char *stop = memchr(start, separator, (size_t)(end - start));

	*rest = stop ? stop + 1 : end;
	return (struct word){ start, (size_t)((stop ? stop : end) - start) };
}

static bool list_has(struct word list, const char *item)
{
	const char *rest = list.text, *end = list.text + list.size;

	while (rest < end)
		if (word_is(next_word(&rest, end, ','), item))
			return true;
	return false;
}

/* Copy with mountinfo's escapes (\040 for a space) undone. */
static char *unescape(struct word w)
{
	char *copy = mr_str_ndup(w.text, w.size);

	mr_str_unescape_octal(copy);
	return copy;
}

/* Our own group in the hierarchy of this controller (NULL: v2), size 0 when there is none. */
static struct word find_own(const char *proc_cgroup, const char *controller)
{
	const char *end;

	for (const char *line = proc_cgroup; *line; line = *end ? end + 1 : end) {
		const char *rest = line;
		struct word id, controllers;

		end = strchrnul(line, '\n');
		id = next_word(&rest, end, ':');
		controllers = next_word(&rest, end, ':');
		if (controller ? !list_has(controllers, controller) : !word_is(id, "0"))
			continue;
		return (struct word){ rest, (size_t)(end - rest) };
	}
	return (struct word){ proc_cgroup, 0 };
}

static bool has_dotdot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

/* "a/b" for own "/r/a/b" below root "/r"; NULL when it is not below. */
static const char *relative(const char *own, const char *root)
{
	size_t n = strlen(root);

	if (own[0] != '/' || root[0] != '/' || has_dotdot(own) || has_dotdot(root))
		return NULL;
	if (n > 1 && (strncmp(own, root, n) != 0 || (own[n] != '/' && own[n] != '\0')))
		return NULL;
	if (n > 1)
		own += n;
	return own + strspn(own, "/");
}

static void deinit_mount(struct mr_mount *m)
{
	free(m->point);
	free(m->own);
	free(m->below);
	*m = (struct mr_mount){ 0 };
}

static int set_mount(struct mr_mount *m, struct word root, struct word point,
		     const char *proc_cgroup, const char *controller)
{
	struct word own = find_own(proc_cgroup, controller);
	mr_auto_free char *root_path = NULL;
	const char *below;

	if (m->point || own.size == 0)
		return 0;
	root_path = unescape(root);
	m->own = strndup(own.text, own.size); /* this file has no escapes */
	if (!root_path || !m->own)
		return -ENOMEM;
	below = relative(m->own, root_path);
	if (!below) {
		deinit_mount(m);
		return 0;
	}
	m->below = strdup(below);
	m->point = unescape(point);
	return m->below && m->point ? 0 : -ENOMEM;
}

static int parse_line(const char *line, const char *end, const char *proc_cgroup,
		      struct mr_mounts *ret)
{
	struct word root, point, word, type, options;
	const char *rest = line;
	int r = 0;

	for (int i = 0; i < 3; i++)
		next_word(&rest, end, ' ');
	root = next_word(&rest, end, ' ');
	point = next_word(&rest, end, ' ');
	do
		word = next_word(&rest, end, ' ');
	while (rest < end && !word_is(word, "-"));
	type = next_word(&rest, end, ' ');
	next_word(&rest, end, ' ');
	options = next_word(&rest, end, ' ');
	if (word_is(type, "cgroup2"))
		return set_mount(&ret->v2, root, point, proc_cgroup, NULL);
	if (!word_is(type, "cgroup"))
		return 0;
	for (enum mr_controller c = 0; c < MR_CONTROLLER_IO && r == 0; c++) {
		const char *name = mr_limits_controller_name(c);

		if (list_has(options, name))
			r = set_mount(&ret->v1[c], root, point, proc_cgroup, name);
	}
	return r;
}

int mr_mounts_parse(const char *mountinfo, const char *proc_cgroup, struct mr_mounts *ret)
{
	const char *end;

	*ret = (struct mr_mounts){ 0 };
	for (const char *line = mountinfo; *line; line = *end ? end + 1 : end) {
		int r;

		end = strchrnul(line, '\n');
		r = parse_line(line, end, proc_cgroup, ret);
		if (r < 0) {
			mr_mounts_deinit(ret);
			return r;
		}
	}
	return 0;
}

void mr_mounts_deinit(struct mr_mounts *mounts)
{
	deinit_mount(&mounts->v2);
	for (size_t c = 0; c < N_ELEMENTS(mounts->v1); c++)
		deinit_mount(&mounts->v1[c]);
}
