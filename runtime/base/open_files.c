/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files
 *
 * The usual soft limit of 1024 is for programs that use select(), which none of ours does: those that
 * drive many runs take what the hard limit gives.  What a payload may open is the spec's to say.
 */
#include "runtime/base/open_files.h"

#include <errno.h>
#include <sys/resource.h>

#include "runtime/base/error.h"

int mr_open_files_allow(uint64_t wanted, uint64_t *ret, struct mr_error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return mr_err(err, MR_E_SYS, errno, "RLIMIT_NOFILE: %m");
	if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			return mr_err(err, MR_E_SYS, errno, "RLIMIT_NOFILE=%ju: %m",
				      (uintmax_t)limit.rlim_cur);
	}
	*ret = limit.rlim_cur;
	return 0;
}
