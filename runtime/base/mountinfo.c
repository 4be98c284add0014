/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mountinfo
 *
 * "36 35 98:0 /root /point rw,noatime [OPTIONAL...] - type source options": see proc(5).
 */
#include "runtime/base/mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define POINT 4 /* words before it */
#define SPACE " \n"

int mr_mountinfo_open(struct mr_mountinfo *ret)
{
	*ret = (struct mr_mountinfo){ .file = fopen("/proc/self/mountinfo", "re") };
	return ret->file ? 0 : -errno;
}

void mr_mountinfo_close(struct mr_mountinfo *mounts)
{
	if (mounts->file)
		fclose(mounts->file);
	free(mounts->line);
	*mounts = (struct mr_mountinfo){ 0 };
}

/* "ro" is always the first option of a mount. */
static bool read_line(struct mr_mountinfo *mounts)
{
	char *save = NULL, *point, *word = strtok_r(mounts->line, SPACE, &save);
	struct mr_error ignored = MR_ERROR_INIT;

	if (!word || mr_units_parse_id(word, &mounts->id, &ignored) < 0)
		return false;
	for (int i = 0; i < POINT && word; i++)
		word = strtok_r(NULL, SPACE, &save);
	if (!word)
		return false;
	mounts->point = point = word;
	word = strtok_r(NULL, SPACE, &save);
	mounts->read_only = word && (strcmp(word, "ro") == 0 || mr_str_starts_with(word, "ro,"));
	while (word && strcmp(word, "-") != 0)
		word = strtok_r(NULL, SPACE, &save);
	word = strtok_r(NULL, SPACE, &save);
	mounts->type = word ? word : "";
	mr_str_unescape_octal(point);
	return true;
}

int mr_mountinfo_next(struct mr_mountinfo *mounts)
{
	while (errno = 0, getline(&mounts->line, &mounts->size, mounts->file) > 0)
		if (read_line(mounts))
			return 1;
	return -errno;
}
