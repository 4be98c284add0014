/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of specs share: a fresh spec for each, and the document in one line
 *
 * Each test has the spec as its state: SPEC_TEST(fn).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/error.h"
#include "runtime/spec/spec.h"

#define SPEC_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
#define DOC(members) "{\"schema\": \"menace.spec/1\"" members "}"

static inline int setup(void **state)
{
	static struct mr_spec spec;

	mr_spec_init(&spec);
	*state = &spec;
	return 0;
}

static inline int teardown(void **state)
{
	mr_spec_deinit(*state);
	return 0;
}

static inline void fresh(struct mr_spec *spec)
{
	mr_spec_deinit(spec);
	mr_spec_init(spec);
}

static inline void assert_ok(int r, const struct mr_error *err)
{
	if (r != 0)
		fail_msg("%d: %s", r, err->msg);
}

static inline void parse_ok(struct mr_spec *spec, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_ok(mr_spec_parse_json(spec, text, strlen(text), "job", &err), &err);
}

static inline void assert_parse_refused(struct mr_spec *spec, const char *text, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;

	fresh(spec);
	assert_int_equal(mr_spec_parse_json(spec, text, strlen(text), "job", &err), -22);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_int_equal(mr_errc_exit_status(err.code), 2);
}
