/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outfile: the old file or the whole new one, whatever becomes of a write
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/base/outfile.h"

#define PIECE 65536 /* more than a stream keeps */

static char folder[] = "/tmp/menace-outfile-XXXXXX";
static char path[sizeof(folder) + 8];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder); /* nothing else is in it */
}

static void write_old(void)
{
	mr_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
}

static size_t read_file(char *buf, size_t size)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = mr_read_full(fd, buf, size);
	assert_true(n >= 0);
	return (size_t)n;
}

/* RLIM_INFINITY: to what it can be. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void whole_file_replaces_the_old(void **state)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	struct mr_error err = MR_ERROR_INIT;
	char buf[16];

	(void)state;
	write_old();
	assert_int_equal(mr_outfile_open(path, 0644, &file, &err), 0);
	assert_true(fputs("newer", file.stream) >= 0);
	assert_int_equal(read_file(buf, sizeof(buf)), 3);
	assert_int_equal(mr_outfile_commit(&file, &err), 0);
	assert_int_equal(read_file(buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "newer", 5);
}

/* There is room again when the last piece is written: the one in the middle is lost all the same. */
static void lost_middle_is_no_file(void **state)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	mr_auto_free char *piece = mr_str_alloc(PIECE);
	struct mr_error err = MR_ERROR_INIT;
	char buf[16];

	(void)state;
	write_old();
	memset(piece, 'x', PIECE);
	assert_int_equal(mr_outfile_open(path, 0644, &file, &err), 0);
	limit_files(PIECE / 2);
	assert_true(fwrite(piece, 1, PIECE, file.stream) < PIECE);
	limit_files(RLIM_INFINITY);
	assert_true(fputs("the end", file.stream) >= 0);
	assert_int_equal(mr_outfile_commit(&file, &err), -EIO);
	assert_int_equal(err.code, MR_E_SYS);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(read_file(buf, sizeof(buf)), 3);
	assert_memory_equal(buf, "old", 3);
}

/* Where the last piece is the one, it is said why. */
static void last_piece_says_why(void **state)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	struct mr_error err = MR_ERROR_INIT;
	char buf[16];

	(void)state;
	write_old();
	assert_int_equal(mr_outfile_open(path, 0644, &file, &err), 0);
	assert_true(fputs("newer", file.stream) >= 0);
	limit_files(2);
	assert_int_equal(mr_outfile_commit(&file, &err), -EFBIG);
	limit_files(RLIM_INFINITY);
	assert_int_equal(read_file(buf, sizeof(buf)), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file_replaces_the_old),
		cmocka_unit_test(lost_middle_is_no_file),
		cmocka_unit_test(last_piece_says_why),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
