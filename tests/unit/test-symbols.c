/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols: past the deadline no file is read, and each frame says why it has no name
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/json.h"
#include "tools/symbols.h"

#define PLACE "/dev/shm" /* a file system of its own, so its paths are known */

/* A crash in that file, with one frame in it and one in none. */
static json_t *make_detail(const char *path, const struct stat *st)
{
	return json_pack("{s:[s, s], s:[{s:s, s:s, s:s, s:I, s:I, s:s}]}", "frames", "0x1010",
			 "0x9000", "modules", "start", "0x1000", "end", "0x2000", "offset", "0x0",
			 "device", (json_int_t)(major(st->st_dev) << 20 | minor(st->st_dev)),
			 "inode", (json_int_t)st->st_ino, "path", path + strlen(PLACE));
}

static const char *text(const json_t *symbols, size_t frame, const char *key)
{
	return json_string_value(json_object_get(json_array_get(symbols, frame), key));
}

static void past_the_deadline_no_file_is_read(void **state)
{
	char path[] = PLACE "/menace-symbols-XXXXXX";
	int fd = mkstemp(path);
	json_t *detail, *symbols;
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	detail = make_detail(path, &st);
	mr_symbols_add(detail, ((int64_t)time(NULL) + 60) * 1000000, 0);
	close(fd);
	unlink(path);
	symbols = json_object_get(detail, "symbols");
	assert_int_equal(json_array_size(symbols), 2);
	assert_string_equal(text(symbols, 0, "module"), path);
	assert_string_equal(text(symbols, 0, "reason"),
			    "the readers of symbols took too long before");
	assert_null(text(symbols, 0, "symbol"));
	assert_null(text(symbols, 1, "module"));
	assert_string_equal(text(symbols, 1, "reason"), "in no file that was recorded");
	json_decref(detail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(past_the_deadline_no_file_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
