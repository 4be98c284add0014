/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the lists
 *
 * Environment, mounts and tolerated degradations, each checked when it is added,
 * so that a message can quote what was written.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns/rules.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/spec.h"

static void *grow(void *array, size_t n, size_t element_size)
{
	void *grown = reallocarray(array, n, element_size);

	mr_assert(grown != NULL);
	return grown;
}

void mr_strv_add(struct mr_strv *strv, const char *s)
{
	/* Doubling at powers of two: the capacity needs no member of its own. */
	if (strv->n == 0)
		strv->v = grow(strv->v, 2, sizeof(char *));
	else if (((strv->n + 1) & strv->n) == 0)
		strv->v = grow(strv->v, (strv->n + 1) * 2, sizeof(char *));
	strv->v[strv->n++] = mr_str_dup(s);
	strv->v[strv->n] = NULL;
}

void mr_strv_clear(struct mr_strv *strv)
{
	for (size_t i = 0; i < strv->n; i++)
		mr_freep(&strv->v[i]);
	mr_freep(&strv->v);
	*strv = (struct mr_strv){ 0 };
}

void mr_spec_clear_program(struct mr_spec *spec)
{
	mr_strv_clear(&spec->argv);
	mr_freep(&spec->snippet_path);
	mr_freep(&spec->snippet_code);
	mr_freep(&spec->lang);
	spec->snippet_path = NULL;
	spec->snippet_code = NULL;
	spec->snippet_code_size = 0;
	spec->lang = NULL;
}

static int refuse(const char *text, const char *why, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s: %s", mr_str_quote(quoted, sizeof(quoted), text),
		      why);
}

int mr_spec_add_env(struct mr_spec *spec, const char *assignment, struct mr_error *err)
{
	const char *equals = strchr(assignment, '=');
	size_t n;

	if (equals == assignment)
		return refuse(assignment, "the name is empty; accepted: NAME=VALUE", err);
	if (!equals)
		return refuse(assignment,
			      "no value; accepted: NAME=VALUE (--env-pass NAME hands "
			      "the caller's value on)",
			      err);
	n = (size_t)(equals - assignment) + 1;
	for (size_t i = 0; i < spec->env.n; i++) {
		if (strncmp(spec->env.v[i], assignment, n) != 0)
			continue;
		mr_freep(&spec->env.v[i]);
		spec->env.v[i] = mr_str_dup(assignment);
		return 0;
	}
	mr_strv_add(&spec->env, assignment);
	return 0;
}

int mr_spec_add_env_pass(struct mr_spec *spec, const char *name, struct mr_error *err)
{
	if (name[0] == '\0' || strchr(name, '='))
		return refuse(name, "not the name of a variable", err);
	mr_strv_add(&spec->env_pass, name);
	return 0;
}

static bool strv_has(const struct mr_strv *strv, const char *text)
{
	for (size_t i = 0; i < strv->n; i++)
		if (strcmp(strv->v[i], text) == 0)
			return true;
	return false;
}

int mr_spec_add_allow(struct mr_spec *spec, const char *rules, struct mr_error *err)
{
	for (;;) {
		size_t n = strcspn(rules, ",");
		mr_auto_free char *text = mr_str_ndup(rules, n);
		char canonical[MR_RULE_TEXT_SIZE];
		struct mr_rule rule;
		int r = mr_rule_parse(text, &rule, err);

		if (r < 0)
			return r;
		if (!strv_has(&spec->net_allow, mr_rule_print(&rule, canonical))) {
			if (spec->net_allow.n == MR_RULES_MAX)
				return mr_err(err, MR_E_USAGE, E2BIG,
					      "too many rules; accepted: at most %d", MR_RULES_MAX);
			mr_strv_add(&spec->net_allow, canonical);
		}
		if (rules[n] == '\0')
			return 0;
		rules += n + 1;
	}
}

const char *mr_spec_mount_kind_name(enum mr_mount_kind kind)
{
	static const char *const names[] = {
		[MR_MOUNT_RO] = "ro",
		[MR_MOUNT_RW] = "rw",
		[MR_MOUNT_TMPFS] = "tmpfs",
		[MR_MOUNT_HIDE] = "hide",
	};

	return names[kind];
}

/* Absolute, without "." and "..", repeated and trailing slashes removed. */
static int normalise_dest(const char *dest, char **ret, struct mr_error *err)
{
	mr_auto_free char *path = NULL;
	const char *p = dest;
	struct mr_str out;

	if (dest[0] != '/')
		return refuse(dest, "a path inside the sandbox must be absolute", err);
	if (strlen(dest) >= PATH_MAX)
		return refuse(dest, "the path is too long", err);
	path = mr_str_alloc(PATH_MAX);
	mr_str_init(&out, path, PATH_MAX);
	for (;;) {
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (n == 0)
			break;
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return refuse(dest,
				      "\".\" and \"..\" are not accepted in a path inside the "
				      "sandbox",
				      err);
		mr_str_add(&out, "/");
		mr_str_addn(&out, p, n);
		p += n;
	}
	if (out.len == 0)
		return refuse(dest, "the root of the sandbox cannot be mounted over", err);
	*ret = mr_take_ptr(path);
	return 0;
}

/* A folder of the caller's in place of these would give its own content as a mask, or be written
 * to. */
static bool is_own_place(const char *path)
{
	static const char *const own[] = { "/.menace", "/run/mask", "/run/mask-file", "/run/mocks",
					   "/run/snippet" };

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		if (mr_str_is_under(path, own[i]))
			return true;
	return strcmp(path, "/run") == 0;
}

int mr_spec_add_mount_parts(struct mr_spec *spec, enum mr_mount_kind kind, const char *source,
			    const char *dest, uint64_t size_bytes, struct mr_error *err)
{
	const uint64_t largest = mr_spec_fields()[MR_FIELD_limits_disk_bytes].max;
	mr_auto_free char *path = NULL;
	char quoted[MR_STR_QUOTE_SIZE];
	char text[MR_UNITS_SIZE];
	int r;

	mr_assert(source || dest);
	if (source && source[0] == '\0')
		return refuse(source, "the path is empty", err);
	if (!dest && source && source[0] != '/')
		return refuse(source, "a relative path needs the place inside: PATH:DEST", err);
	r = normalise_dest(dest ? dest : source, &path, err);
	if (r < 0)
		return r;
	if (size_bytes > largest)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: %" PRIu64 " bytes are out of range; accepted: at most %s",
			      mr_str_quote(quoted, sizeof(quoted), path), size_bytes,
			      mr_units_print_size(text, largest));
	mr_assert(path);
	if (kind != MR_MOUNT_HIDE &&
	    (mr_str_is_under(path, "/proc") || mr_str_is_under(path, "/dev")))
		return refuse(path, "/proc and /dev are the sandbox's own", err);
	if (kind != MR_MOUNT_HIDE && is_own_place(path))
		return refuse(path,
			      "the sandbox keeps the snippet and what hides files there; mount "
			      "elsewhere or, in /run, below another name",
			      err);
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (strcmp(spec->mounts[i].dest, path) == 0)
			return refuse(path, "this place inside is already taken by another mount",
				      err);
	spec->mounts = grow(spec->mounts, spec->n_mounts + 1, sizeof(*spec->mounts));
	spec->mounts[spec->n_mounts++] = (struct mr_spec_mount){
		.kind = kind,
		.source = source ? mr_str_dup(source) : NULL,
		.dest = mr_take_ptr(path),
		.size_bytes = size_bytes,
	};
	return 0;
}

/* The last ":/" divides, so that a source may hold a colon. */
static const char *find_dest(const char *arg)
{
	const char *found = NULL;

	for (const char *p = strstr(arg, ":/"); p; p = strstr(p + 1, ":/"))
		found = p;
	return found;
}

static int add_bind(struct mr_spec *spec, enum mr_mount_kind kind, const char *arg,
		    struct mr_error *err)
{
	const char *colon = find_dest(arg);
	mr_auto_free char *source = NULL;

	if (!colon && strchr(arg, ':'))
		return refuse(arg, "the place inside must be absolute; accepted: PATH or PATH:DEST",
			      err);
	if (colon && strchr(colon + 1, ':'))
		return refuse(arg,
			      "a second colon; accepted: PATH or PATH:DEST (--ro and --rw say "
			      "the mode)",
			      err);
	source = mr_str_ndup(arg, colon ? (size_t)(colon - arg) : strlen(arg));
	return mr_spec_add_mount_parts(spec, kind, source, colon ? colon + 1 : NULL, 0, err);
}

static int add_tmpfs(struct mr_spec *spec, const char *arg, struct mr_error *err)
{
	const char *colon = strrchr(arg, ':');
	mr_auto_free char *dest = mr_str_ndup(arg, colon ? (size_t)(colon - arg) : strlen(arg));
	uint64_t size = 0;
	int r;

	if (colon) {
		r = mr_units_parse_size(colon + 1, &size, err);
		if (r < 0)
			return r;
		if (size == 0)
			return refuse(arg, "a size of 0; leave it out for no cap of its own", err);
	}
	return mr_spec_add_mount_parts(spec, MR_MOUNT_TMPFS, NULL, dest, size, err);
}

int mr_spec_add_mount(struct mr_spec *spec, enum mr_mount_kind kind, const char *arg,
		      struct mr_error *err)
{
	switch (kind) {
	case MR_MOUNT_RO:
	case MR_MOUNT_RW:
		return add_bind(spec, kind, arg, err);
	case MR_MOUNT_TMPFS:
		return add_tmpfs(spec, arg, err);
	case MR_MOUNT_HIDE:
		return mr_spec_add_mount_parts(spec, kind, NULL, arg, 0, err);
	}
	return mr_err(err, MR_E_BUG, EINVAL, "mount kind %d", (int)kind);
}

const struct mr_spec_item *mr_spec_best_effort_items(size_t *ret_n)
{
	static const struct mr_spec_item items[] = {
#define ITEM(name_, help_) { .name = (name_), .help = (help_) },
#include "runtime/spec/best_effort.def"
#undef ITEM
	};

	*ret_n = N_ELEMENTS(items);
	return items;
}

/* Items of earlier versions, which never did without them. */
static bool is_always_enforced(const char *item)
{
	static const char *const items[] = { "disk", "userns-nested", "proc-mask" };

	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		if (strcmp(items[i], item) == 0)
			return true;
	return false;
}

static int add_best_effort_item(struct mr_spec *spec, const char *item, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;
	char names[256];
	struct mr_str list;
	size_t n_items;
	size_t n_vars;
	const struct mr_spec_item *items = mr_spec_best_effort_items(&n_items);
	const struct mr_preset_var *vars = mr_preset_vars(&n_vars);

	mr_str_nearest_init(&nearest, item);
	for (size_t i = 0; i < n_items; i++)
		mr_str_nearest_offer(&nearest, items[i].name);
	for (size_t i = 0; i < n_vars; i++)
		mr_str_nearest_offer(&nearest, vars[i].name);
	if (nearest.best && strcmp(nearest.best, item) == 0) {
		if (!mr_spec_tolerates(spec, item))
			mr_strv_add(&spec->best_effort, item);
		return 0;
	}
	mr_str_quote(quoted, sizeof(quoted), item);
	if (is_always_enforced(item))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "item %s is no more: what it names is enforced on every host; leave "
			      "it "
			      "out",
			      quoted);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown item %s; did you mean \"%s\"?",
			      quoted, nearest.best);
	mr_str_init(&list, names, sizeof(names));
	for (size_t i = 0; i < n_items; i++)
		mr_str_printf(&list, "%s, ", items[i].name);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "unknown item %s; accepted: %sand preset variables of menace-spec(5)", quoted,
		      names);
}

int mr_spec_add_best_effort(struct mr_spec *spec, const char *items, struct mr_error *err)
{
	for (;;) {
		size_t n = strcspn(items, ",");
		mr_auto_free char *item = mr_str_ndup(items, n);
		int r = add_best_effort_item(spec, item, err);

		if (r < 0)
			return r;
		if (items[n] == '\0')
			return 0;
		items += n + 1;
	}
}

bool mr_spec_tolerates(const struct mr_spec *spec, const char *item)
{
	for (size_t i = 0; i < spec->best_effort.n; i++)
		if (strcmp(spec->best_effort.v[i], item) == 0)
			return true;
	return false;
}
