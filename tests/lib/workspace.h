/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of an overlay, made by hand, for unit tests
 *
 * Bodies that give up rights or mount something run
 * in a child, where cmocka's asserts must not be used: CHECK returns 1.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/supervise/changes.h"
#include "runtime/supervise/keep.h"
#include "tests/lib/temptree.h"

#define CHECK(expr)                                                                \
	do {                                                                       \
		if (!(expr)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #expr); \
			return 1;                                                  \
		}                                                                  \
	} while (0)

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* sha256 of "abc" */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

struct fixture {
	struct temptree t;
	int upper, lower, out;
	struct mr_changes changes;
	struct mr_kept kept;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temptree_make(&f->t);
	f->upper = temptree_dir(f->t.fd, "upper");
	f->lower = temptree_dir(f->t.fd, "lower");
	f->out = temptree_dir(f->t.fd, "out");
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	mr_changes_deinit(&f->changes);
	mr_keep_deinit(&f->kept);
	close(f->upper);
	close(f->lower);
	close(f->out);
	temptree_remove(&f->t);
	free(f);
	return 0;
}

static inline void scan(struct fixture *f, const struct mr_changes_opts *opts)
{
	struct mr_error err = MR_ERROR_INIT;

	mr_changes_deinit(&f->changes);
	assert_int_equal(mr_changes_scan(f->upper, f->lower, opts, &f->changes, &err), 0);
}

/* The rows as "kind type path" lines. */
static inline void expect(const struct fixture *f, const char *want)
{
	char got[4096] = "";
	size_t at = 0;

	for (size_t i = 0; i < f->changes.n_rows && at < sizeof(got) - 1; i++) {
		const struct mr_change *c = &f->changes.rows[i];

		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s %s %s\n",
				       mr_changes_kind_name(c->kind), mr_changes_type_name(c->type),
				       c->path);
	}
	assert_string_equal(got, want);
}

static inline const struct mr_change *row(const struct fixture *f, const char *path)
{
	for (size_t i = 0; i < f->changes.n_rows; i++) {
		if (strcmp(f->changes.rows[i].path, path) == 0)
			return &f->changes.rows[i];
	}
	fail_msg("no row for %s", path);
	return NULL;
}

static inline void expect_row_json(const struct fixture *f, const char *path, const char *want)
{
	mr_auto_json json_t *json = mr_changes_to_json(&f->changes);
	size_t i = (size_t)(row(f, path) - f->changes.rows);
	char *text = json_dumps(json_array_get(json_object_get(json, "entries"), i),
				JSON_COMPACT | JSON_SORT_KEYS);

	assert_string_equal(text, want);
	free(text);
}

static inline void whiteout(int at, const char *path)
{
	MUST(mknodat(at, path, S_IFCHR, makedev(0, 0)) == 0);
}

/* An attribute of the entry itself, through a descriptor. */
static inline void set_mark(int at, const char *path, const char *name, const char *value)
{
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0);
	MUST(fsetxattr(fd, name, value, strlen(value), 0) == 0);
	close(fd);
}

/* Run body in a child and expect 0 of it. */
static inline void in_child(struct fixture *f, int (*body)(struct fixture *f))
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0)
		_exit(body(f));
	MUST(waitpid(pid, &status, 0) == pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static inline int become_nobody(void)
{
	return setresgid(65534, 65534, 65534) < 0 ? -1 : setresuid(65534, 65534, 65534);
}
