/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session
 */
#include "tools/flow_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/store/place.h"
#include "runtime/store/query.h"
#include "runtime/store/store.h"
#include "tools/cmd.h"
#include "tools/flow_temp.h"

int64_t mr_flow_session_now_us(void)
{
	return mr_clock_real_us();
}

int mr_flow_session_open(struct mr_flow_session *session, const struct mr_cmd_common *common,
			 struct mr_error *err)
{
	struct mr_place place = { 0 };
	int r = mr_place_find(common->store, &place, err);

	if (r == 0)
		r = mr_cmd_open(common, MR_STORE_WRITE, &session->store, err);
	else if (r > 0)
		r = 0; /* none is wanted */
	mr_place_deinit(&place);
	return r;
}

/* --- which workflow -------------------------------------------------------- */

static int parse_row(struct mr_flow_session *session, const json_t *row, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	const char *text = json_string_value(json_object_get(row, "document"));
	const char *folder = json_string_value(json_object_get(row, "folder"));
	const char *name = json_string_value(json_object_get(row, "name"));
	int r = mr_json_parse(text, strlen(text), name, &document, err);

	if (r == 0)
		r = mr_flow_parse(document, folder, name, &session->flow, err);
	if (r == 0)
		session->base = mr_str_dup(folder);
	return r;
}

static int find_stored(struct mr_flow_session *session, uint64_t id, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r;

	if (!session->store)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "workflow %ju is looked for in a store, and there is none",
			      (uintmax_t)id);
	r = mr_query_one(session->store, "flow.get", json_pack("{s:I}", "id", (json_int_t)id), &row,
			 err);
	if (r > 0)
		return mr_err(err, MR_E_NONE, ENOENT, "workflow %ju not found", (uintmax_t)id);
	return r < 0 ? r : parse_row(session, row, err);
}

int mr_flow_session_find(struct mr_flow_session *session, const char *word, struct mr_error *err)
{
	uint64_t id = 0;

	if (strspn(word, "0123456789") == strlen(word) && mr_units_parse_count(word, &id, err) == 0)
		return find_stored(session, id, err);
	return mr_flow_read(word, &session->flow, &session->base, err);
}

int mr_flow_session_resume(struct mr_flow_session *session, const char *name, const char *key,
			   const char *id, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	int r;

	mr_str_quote(quoted, sizeof(quoted), id);
	if (!session->store)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--resume needs the store in which it was kept");
	if (strlen(id) != sizeof(session->id) - 1 || strspn(id, "0123456789abcdef") != strlen(id))
		return mr_err(err, MR_E_USAGE, EINVAL, "--resume: %s is not 16 hex digits", quoted);
	r = mr_query_one(session->store, name, json_pack("{s:s}", key, id), &session->row, err);
	if (r > 0)
		return mr_err(err, MR_E_NONE, ENOENT, "--resume: the store has no %s", quoted);
	if (r == 0)
		r = parse_row(session, session->row, err);
	if (r == 0)
		memcpy(session->id, id, sizeof(session->id));
	session->row_name = name;
	session->row_key = key;
	return r;
}

/* --- the folder ------------------------------------------------------------ */

static int draw_id(struct mr_flow_session *session, struct mr_error *err)
{
	unsigned char bytes[(sizeof(session->id) - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return mr_err(err, MR_E_SYS, errno, "getrandom: %m");
	mr_str_hex(bytes, sizeof(bytes), session->id);
	return 0;
}

static int make_private(const char *path, struct mr_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022) != 0)
		return mr_err(err, MR_E_DENIED, EPERM,
			      "%s is no folder of yours that nobody else can write", path);
	return 0;
}

static int make_folder(struct mr_flow_session *session, struct mr_error *err)
{
	mr_auto_free char *all = NULL;
	int r;

	if (!session->store)
		return mr_flow_temp_new(&session->folder, &session->lock_fd, err);
	all = mr_str_format("%s.flows", mr_store_path(session->store));
	session->folder = mr_str_format("%s/%s", all, session->id);
	r = make_private(all, err);
	return r < 0 ? r : make_private(session->folder, err);
}

/* What was read before the lock may be gone by now: somebody has purged it. */
static int look_again(const struct mr_flow_session *session, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	int r;

	if (!session->row)
		return 0;
	r = mr_query_one(session->store, session->row_name,
			 json_pack("{s:s}", session->row_key, session->id), &row, err);
	return r > 0 ? mr_err(err, MR_E_NONE, ENOENT, "--resume: %s was purged", session->id) : r;
}

static int lock_folder(struct mr_flow_session *session, struct mr_error *err)
{
	if (session->lock_fd >= 0)
		return 0;
	session->lock_fd = open(session->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (session->lock_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", session->folder);
	if (flock(session->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return mr_err(err, MR_E_BUSY, errno, "%s is being run by another process",
			      session->id);
	return look_again(session, err);
}

/* An earlier start may have been ended while it filled it. */
static int make_stage(struct mr_flow_session *session, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	int r = mr_folder_remove(session->lock_fd, "stage", err);

	if (r == 0)
		r = mr_fixture_folder(session->stage, &fd, err);
	if (r < 0 || mr_flow_takes_inputs(session->flow->document))
		return r; /* what its files are is decided for each of its runs */
	return mr_fixture_stage(session->flow, session->stage, err);
}

int mr_flow_session_prepare(struct mr_flow_session *session, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	int r = session->id[0] ? 0 : draw_id(session, err);

	if (r == 0)
		r = make_folder(session, err);
	if (r == 0)
		r = lock_folder(session, err);
	if (r < 0)
		return r;
	session->stage = mr_str_format("%s/stage", session->folder);
	session->own = mr_str_format("%s/own", session->folder);
	r = make_stage(session, err);
	return r < 0 ? r : mr_fixture_folder(session->own, &fd, err);
}

int mr_flow_session_tell(const struct mr_flow_session *session, const char *what, int r,
			 const struct mr_error *err)
{
	if (session->store && session->folder && err->code != MR_E_BUSY)
		mr_log_notice("menace %s run --resume %s goes on from what was kept", what,
			      session->id);
	return r;
}

void mr_flow_session_finish(struct mr_flow_session *session)
{
	struct mr_error err = MR_ERROR_INIT;

	if (session->folder && session->lock_fd >= 0 &&
	    mr_folder_remove(AT_FDCWD, session->folder, &err) < 0)
		mr_log_warn("%s is left: %s", session->folder, err.msg);
}

void mr_flow_session_close(struct mr_flow_session *session)
{
	if (!session->store)
		mr_flow_session_finish(session);
	mr_close(session->lock_fd);
	session->store = mr_store_close(session->store);
	session->flow = mr_flow_free(session->flow);
	json_decref(session->row);
	free(session->base);
	free(session->folder);
	free(session->stage);
	free(session->own);
}
