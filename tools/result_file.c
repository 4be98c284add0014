/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result file
 *
 * A file that is there is never written to: it may be a payload's of an earlier run, which
 * would get what root writes with the owner, the mode and the mappings that the payload chose.
 * So only the folder is opened before the run, and held; the result is a new file in it that
 * takes the name in the end, whatever has that name by then.  What is there and is no regular
 * file (a fifo, a device) is the caller's choice: it is opened before the run and written to.
 */
#include "tools/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/outfile.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/supervise/links.h"
#include "tools/session.h"

/* What we lack ourselves is no fault of the place. */
static enum mr_errc code_of(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM ? MR_E_SYS : MR_E_USAGE;
}

static int bad_place(const struct mr_result_file *file, int errnum, struct mr_error *err)
{
	errno = errnum;
	if (errnum == ENXIO)
		return mr_err(err, MR_E_USAGE, errnum, "--json %s: a fifo that nobody reads",
			      file->target);
	if (errnum == ELOOP)
		return mr_err(err, MR_E_USAGE, errnum,
			      "--json %s: %m; a link is not written through, nor one followed in a "
			      "folder that --rw shows",
			      file->target);
	return mr_err(err, code_of(errnum), errnum, "--json %s: %m", file->target);
}

/* Never waiting for the reader of a fifo: it may be planted. */
static int open_stream(struct mr_result_file *file, struct mr_error *err)
{
	struct stat st;

	file->fd = openat(file->dir_fd, file->name,
			  O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	file->is_own = true;
	if (file->fd < 0 || fstat(file->fd, &st) < 0 || fcntl(file->fd, F_SETFL, 0) < 0)
		return bad_place(file, errno, err);
	if (S_ISREG(st.st_mode)) /* exchanged meanwhile */
		return bad_place(file, EBUSY, err);
	mr_close(file->dir_fd);
	file->dir_fd = -1;
	return 0;
}

/* That a file can be made, and an old one be replaced, is found out by doing it. */
static int clear_place(const struct mr_result_file *file, bool has_old, struct mr_error *err)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile made = MR_OUTFILE_INIT;
	int r = mr_outfile_open_over(file->dir_fd, file->target, 0644, &made, err);

	if (r == 0 && has_old && unlinkat(file->dir_fd, file->name, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		return 0;
	errno = -r;
	if (!has_old)
		return bad_place(file, -r, err);
	return mr_err(err, code_of(-r), -r,
		      "--json %s: %m; the file that is there is replaced, not written to: for that "
		      "give it as a descriptor (-o FD:3 3>FILE)",
		      file->target);
}

static int open_file(struct mr_result_file *file, const struct mr_spec *spec, struct mr_error *err)
{
	const size_t len = strlen(file->target);
	struct stat st;

	if (len > 0 && file->target[len - 1] == '/')
		return bad_place(file, EISDIR, err);
	file->dir_fd = len > 0 ? mr_links_open_parent(spec, file->target, &file->name) : -1;
	if (file->dir_fd < 0)
		return bad_place(file, len > 0 ? errno : ENOENT, err);
	if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? clear_place(file, false, err)
				       : bad_place(file, errno, err);
	if (S_ISREG(st.st_mode))
		return clear_place(file, true, err);
	if (S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode))
		return bad_place(file, S_ISLNK(st.st_mode) ? ELOOP : EISDIR, err);
	return open_stream(file, err);
}

static int check_fd(struct mr_result_file *file, uint64_t fd, struct mr_error *err)
{
	mr_auto_free char *what = mr_str_format("--json %s", file->target);

	file->fd = (int)fd;
	return mr_session_check_fd(what, fd, true, err);
}

int mr_result_file_open(const struct mr_cli *cli, struct mr_result_file *ret, struct mr_error *err)
{
	uint64_t fd;

	*ret = (struct mr_result_file)MR_RESULT_FILE_INIT;
	ret->target = cli->json_target;
	if (!ret->target)
		return 0;
	if (strcmp(ret->target, "-") == 0) {
		if (mr_session_was_closed(STDOUT_FILENO))
			return mr_err(err, MR_E_USAGE, EBADF,
				      "--json -: standard output is closed");
		return check_fd(ret, STDOUT_FILENO, err);
	}
	if (strncmp(ret->target, "FD:", 3) == 0) {
		if (mr_units_parse_count(ret->target + 3, &fd, err) < 0)
			return mr_err_wrap(err, -EINVAL, "--json");
		return check_fd(ret, fd, err);
	}
	return open_file(ret, &cli->spec, err);
}

bool mr_result_file_is_wanted(const struct mr_result_file *file)
{
	return file->fd >= 0 || file->dir_fd >= 0;
}

static int write_stream(struct mr_result_file *file, const char *text)
{
	int r = mr_write_full(file->fd, text, strlen(text));

	if (r == 0)
		r = mr_write_full(file->fd, "\n", 1);
	if (file->is_own && close(file->fd) < 0 && r == 0)
		r = -errno;
	file->fd = -1;
	return r;
}

static int write_file(struct mr_result_file *file, const char *text)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile made = MR_OUTFILE_INIT;
	struct mr_error err = MR_ERROR_INIT;
	int r = mr_outfile_open_over(file->dir_fd, file->target, 0644, &made, &err);

	if (r == 0 && (fputs(text, made.stream) == EOF || fputc('\n', made.stream) == EOF))
		r = errno ? -errno : -EIO;
	return r == 0 ? mr_outfile_commit(&made, &err) : r;
}

int mr_result_file_write(struct mr_result_file *file, const struct json_t *result)
{
	mr_auto_free char *text = json_dumps(result, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	int r = -ENOMEM;

	if (text)
		r = file->dir_fd >= 0 ? write_file(file, text) : write_stream(file, text);
	if (r < 0)
		mr_log_error("--json %s: the result cannot be written: %s", file->target,
			     strerror(-r));
	return r;
}

void mr_result_file_deinit(struct mr_result_file *file)
{
	if (file->is_own)
		mr_close(file->fd);
	mr_close(file->dir_fd);
	free(file->name);
	*file = (struct mr_result_file)MR_RESULT_FILE_INIT;
}
