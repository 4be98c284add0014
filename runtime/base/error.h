/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors
 *
 * A function that can fail returns int: 0 is success; a negative errno is
 * fatal, *err is filled and the caller forwards the value unchanged; a
 * positive value is an outcome the function documents.
 *
 * struct mr_error is 512 bytes, owns nothing and needs no release, so it can be
 * filled after clone() and sent through a pipe in one atomic write.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

enum mr_errc {
#define ERRC(name, exit_status, http_status, doc) MR_E_##name,
#include "runtime/base/errc.def"
#undef ERRC
	MR_E_COUNT_,
};

struct mr_error {
	enum mr_errc code;
	int errnum; /* positive errno; 0 where none applies */
	char msg[504];
};

#define MR_ERROR_INIT             \
	{                         \
		.code = MR_E_NONE \
	}

/* Fill *err (may be NULL) and return -errnum; errnum 0 returns -EINVAL.
 * %m in fmt prints errnum's text; behind EMFILE comes what the limit is and how to raise it. */
int mr_err(struct mr_error *err, enum mr_errc code, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Put "context: " before the message; returns r unchanged. */
int mr_err_wrap(struct mr_error *err, int r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__
/* For the analyser: both return a negative value, so what follows an error is not reached. */
static inline int mr_err_negative(int r)
{
	if (r >= 0)
		__builtin_unreachable();
	return r;
}
#define mr_err(...) mr_err_negative(mr_err(__VA_ARGS__))
#define mr_err_wrap(...) mr_err_negative(mr_err_wrap(__VA_ARGS__))
#endif

/* Exit status of menace-run for this code. */
int mr_errc_exit_status(enum mr_errc code);
/* Lower-case name ("usage", "sys"), for JSON. */
const char *mr_errc_name(enum mr_errc code);

/* A bug, not an error: prints file, line and expression and aborts, in every build. */
#define mr_assert(expr) ((expr) ? (void)0 : mr_assert_fail(#expr, __FILE__, __LINE__))
_Noreturn void mr_assert_fail(const char *expr, const char *file, int line);
