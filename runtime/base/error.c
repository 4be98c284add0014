/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors
 *
 * Formatting into the fixed buffer of struct mr_error; see error.h for the
 * conventions.  Nothing here allocates, so it is safe between clone and exec.
 */
#include "runtime/base/error.h"
#undef mr_err
#undef mr_err_wrap

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct errc_row {
	const char *name;
	int exit_status;
} errc_rows[] = {
#define ERRC(name, exit_status, http_status, doc) [MR_E_##name] = { #name, exit_status },
#include "runtime/base/errc.def"
#undef ERRC
};

/* Whatever it was that one descriptor more was wanted for, the way out is the same. */
static void advise_on_descriptors(struct mr_error *err)
{
	const size_t used = strlen(err->msg);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		snprintf(err->msg + used, sizeof(err->msg) - used,
			 "; no more than %ju are allowed here: raise the limit (ulimit -n)",
			 (uintmax_t)limit.rlim_cur);
}

int mr_err(struct mr_error *err, enum mr_errc code, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		err->errnum = errnum;
		errno = errnum;
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
		if (errnum == EMFILE)
			advise_on_descriptors(err);
	}
	return errnum > 0 ? -errnum : -EINVAL;
}

int mr_err_wrap(struct mr_error *err, int r, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	int used;
	va_list ap;

	if (!err)
		return r;
	memcpy(old, err->msg, sizeof(old));
	old[sizeof(old) - 1] = '\0';
	va_start(ap, fmt);
	used = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (used < 0 || (size_t)used + 3 >= sizeof(err->msg))
		return r;
	snprintf(err->msg + used, sizeof(err->msg) - (size_t)used, ": %.*s",
		 (int)(sizeof(err->msg) - (size_t)used - 3), old);
	return r;
}

int mr_errc_exit_status(enum mr_errc code)
{
	return (unsigned int)code < MR_E_COUNT_ ? errc_rows[code].exit_status : 125;
}

const char *mr_errc_name(enum mr_errc code)
{
	static char lower[MR_E_COUNT_][16];
	size_t i;

	if ((unsigned int)code >= MR_E_COUNT_)
		return "bug";
	for (i = 0; i < sizeof(lower[0]) - 1 && errc_rows[code].name[i]; i++)
		lower[code][i] = (char)tolower((unsigned char)errc_rows[code].name[i]);
	return lower[code];
}

_Noreturn void mr_assert_fail(const char *expr, const char *file, int line)
{
	fprintf(stderr, "menace: bug at %s:%d: %s does not hold\n", file, line, expr);
	abort();
}
