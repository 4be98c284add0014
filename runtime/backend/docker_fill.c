/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, pool: filling
 *
 *   detach    a process of its own, which holds nothing of its parent's and has an alarm set
 *   queue     one works for a place, one waits, others leave: the one that waits sees what they saw
 *   reserve   under the counters' lock: may there be one more?  Then its record is begun, so that
 *             the next to ask counts it
 *   prepare   folder, create, verify, start; then the record is ready
 *
 * After failures the next is not tried before 0.5 s, 1 s, 2 s ... at most 60 s have gone by: an
 * engine that cannot is not asked by every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_image.h"
#include "runtime/backend/docker_key.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_pool.h"
#include "runtime/backend/docker_sweep.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"

#define PLACES 2 /* fillers at work at once */
#define WAITING 128 /* from here on: places of those who wait */
#define MS UINT64_C(1000000)

struct filler {
	const struct mr_spec *spec;
	struct mr_docker *docker;
	struct mr_docker_plan plan;
	int leases_fd, pool_fd, queue_fd;
	char label[MR_DOCKER_LEASE_LABEL_SIZE], key[MR_HASH_HEX_SIZE];
};

/* --- may there be one more? ------------------------------------------------------------------------ */

struct census {
	size_t all; /* of all kinds, also in the making */
	size_t alike; /* of this key */
};

static int count(const struct filler *f, struct census *ret, struct mr_error *err)
{
	mr_auto_free void *ids = NULL;
	char(*list)[MR_RUN_ID_SIZE] = NULL;
	struct census census = { 0 };
	size_t n = 0;
	int r = mr_docker_ledger_list(f->pool_fd, &list, &n, err);

	ids = list;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct mr_docker_record record;
		bool held;

		r = mr_docker_record_look(f->pool_fd, list[i], &record, &held, err);
		if (r != 0)
			continue;
		if (record.state != MR_DOCKER_USED) {
			census.all++;
			census.alike += strcmp(mr_docker_record_text(&record, "key"), f->key) == 0;
		}
		mr_docker_record_release(&record);
	}
	*ret = census;
	return r < 0 ? r : 0;
}

static bool must_wait(const struct mr_docker_counters *counters)
{
	json_int_t row = json_integer_value(json_object_get(counters->values, "failures_in_a_row"));
	json_int_t last = json_integer_value(json_object_get(counters->values, "last_failure_ns"));
	uint64_t pause_ms = MR_PATIENCE_MS(DOCKER_BACKOFF_FIRST);
	const uint64_t now = mr_now_ns();

	if (row <= 0 || last <= 0 || (uint64_t)last > now)
		return false;
	for (json_int_t i = 1; i < row && pause_ms < MR_PATIENCE_MS(DOCKER_BACKOFF_MOST); i++)
		pause_ms *= 2;
	if (pause_ms > MR_PATIENCE_MS(DOCKER_BACKOFF_MOST))
		pause_ms = MR_PATIENCE_MS(DOCKER_BACKOFF_MOST);
	return now - (uint64_t)last < pause_ms * MS;
}

/* Where its files are, by its own words; where that is no path of ours nothing is known of it. */
static bool is_full(const struct filler *f)
{
	const struct mr_docker_request request = { .method = "GET", .path = "/info" };
	mr_auto_json json_t *info = NULL;
	struct mr_error ignored;
	struct statvfs st;
	const char *root;

	if (f->spec->sandbox_pool_disk_free_bytes == 0 ||
	    mr_docker_want_json(f->docker, &request, &info, &ignored) < 0)
		return false;
	root = json_string_value(json_object_get(info, "DockerRootDir"));
	return root && statvfs(root, &st) == 0 &&
	       (uint64_t)st.f_bavail * st.f_frsize < f->spec->sandbox_pool_disk_free_bytes;
}

static json_t *first_facts(const struct filler *f)
{
	return json_pack("{s:s, s:s, s:s}", "key", f->key, "engine", mr_docker_name(f->docker),
			 "image", f->plan.image);
}

/* 0: *ret is begun; 1: there is no more to do, or not now. */
static int reserve(struct filler *f, struct mr_docker_record *ret, struct mr_error *err)
{
	const bool full = is_full(f); /* before others have to wait */
	struct mr_docker_counters counters;
	struct census census = { 0 };
	int r = mr_docker_counters_open(f->pool_fd, &counters, err), closed;

	if (r < 0)
		return r;
	r = count(f, &census, err);
	if (r == 0 && census.alike >= f->spec->sandbox_pool) {
		r = 1;
	} else if (r == 0 && must_wait(&counters)) {
		mr_docker_counters_add(&counters, "put_off", 1);
		r = 1;
	} else if (r == 0 && census.all >= f->spec->sandbox_pool_max) {
		mr_docker_counters_add(&counters, "limit_reached", 1);
		r = 1;
	} else if (r == 0 && full) {
		mr_docker_counters_add(&counters, "disk_full", 1);
		r = 1;
	}
	if (r == 0)
		r = mr_docker_record_begin(f->pool_fd, first_facts(f), ret, err);
	closed = mr_docker_counters_close(&counters, err);
	return r != 0 ? r : closed;
}

/* --- one container ----------------------------------------------------------------------------------- */

static void note_facts(const struct filler *f, struct mr_docker_record *record,
		       const struct mr_docker_create *create, const json_t *body,
		       const char *container)
{
	const uint64_t now = mr_now_ns(), until = now + create->wait_ms * MS;

	json_object_set_new(record->facts, "container", json_string(container));
	json_object_set_new(record->facts, "uid", json_integer(create->uid));
	json_object_set_new(record->facts, "gid", json_integer(create->gid));
	json_object_set_new(record->facts, "limits", mr_docker_create_limits(body));
	json_object_set_new(record->facts, "image_name", json_string(f->spec->sandbox_image));
	json_object_set_new(record->facts, "ready_ns", json_integer((json_int_t)now));
	json_object_set_new(record->facts, "until_ns", json_integer((json_int_t)until));
}

static int prepare_in(struct filler *f, struct mr_docker_record *record, const char *folder,
		      struct mr_error *err)
{
	mr_auto_free char *snippets = NULL;
	mr_auto_json json_t *body = NULL;
	struct mr_docker_create create;
	char container[MR_DOCKER_ID_SIZE];
	int r;

	mr_docker_plan_request(&f->plan, record->id, true, folder, &snippets, &create);
	r = mr_docker_make_ids(f->spec, true, &create.uid, &create.gid, err);
	if (r == 0)
		r = mr_docker_make_files(folder, f->spec, create.uid, create.gid, err);
	if (r < 0)
		return r;
	body = mr_docker_create_body(&create);
	r = mr_docker_make_container(f->docker, record->id, body, container, err);
	if (r < 0)
		return r;
	note_facts(f, record, &create, body, container);
	r = mr_docker_make_post(f->docker, container, "start", MR_PATIENCE_MS(DOCKER_MAKE), err);
	return r < 0 ? r : mr_docker_record_ready(record, err);
}

/* What is left of a failure goes with its record; where it cannot be removed both stay, for the next
 * start. */
static void undo(struct filler *f, struct mr_docker_record *record)
{
	struct mr_error ignored;

	if (mr_docker_lease_remove(f->docker, record->id, &ignored) < 0) {
		mr_docker_record_release(record);
		return;
	}
	mr_docker_lease_remove_folder(record->id);
	mr_docker_record_drop(f->pool_fd, record);
}

static int prepare(struct filler *f, struct mr_docker_record *record, struct mr_error *err)
{
	mr_auto_free char *folder = NULL;
	int r = mr_docker_lease_make_folder(record->id, &folder, err);

	if (r == 0)
		r = prepare_in(f, record, folder, err);
	if (r < 0)
		undo(f, record);
	else
		mr_docker_record_release(record);
	return r;
}

/* --- the filler -------------------------------------------------------------------------------------- */

static void tell(int pool_fd, int result, const struct mr_error *why)
{
	struct mr_docker_counters counters;
	struct mr_error err;

	if (mr_docker_counters_open(pool_fd, &counters, &err) < 0)
		return;
	if (result >= 0) {
		mr_docker_counters_add(&counters, "prepared", 1);
		json_object_del(counters.values, "failures_in_a_row");
	} else {
		mr_docker_counters_add(&counters, "failures", 1);
		mr_docker_counters_add(&counters, "failures_in_a_row", 1);
		json_object_set_new(counters.values, "last_failure_ns",
				    json_integer((json_int_t)mr_now_ns()));
		mr_text_set(counters.values, "last_failure", why->msg, strlen(why->msg));
	}
	mr_docker_counters_close(&counters, &err); /* nobody is there to be told */
}

static int open_filler(struct filler *f, struct mr_error *err)
{
	int r = mr_docker_open(&f->docker, err);
	const char *why;

	f->leases_fd = r < 0 ? -1 : mr_lease_open_dir(err);
	if (r == 0 && f->leases_fd < 0)
		r = f->leases_fd;
	if (r == 0)
		r = mr_docker_lease_label(f->leases_fd, f->label, err);
	if (r == 0)
		r = mr_docker_plan_make(f->docker, f->spec, f->label, &f->plan, err);
	if (r == 0 && !mr_docker_pool_fits(&f->plan, &why))
		return 1;
	if (r == 0)
		r = mr_docker_image_find(f->docker, f->spec, f->plan.image, err);
	return r < 0 ? r : mr_docker_key(&f->plan, f->key, err);
}

/* 0: it is our turn; 1: somebody is waiting for it who will see what we see. */
static int queue(struct filler *f, struct mr_error *err)
{
	const unsigned int place = (unsigned char)f->key[0] % PLACES;
	unsigned int kind = 0;
	mr_auto_close int waiting = -1;

	for (size_t i = 0; i < 8; i++)
		kind = kind * 31 + (unsigned char)f->key[i];
	waiting = mr_docker_ledger_queue(f->pool_fd, WAITING + kind % 65536, false, err);
	if (waiting < 0)
		return waiting == -EAGAIN || waiting == -EACCES ? 1 : waiting;
	f->queue_fd = mr_docker_ledger_queue(f->pool_fd, place, true, err);
	return f->queue_fd < 0 ? f->queue_fd : 0;
}

static int fill(struct filler *f, struct mr_error *err)
{
	struct mr_docker_record record;
	int r = open_filler(f, err);

	if (r == 0)
		r = queue(f, err);
	while (r == 0 && (r = reserve(f, &record, err)) == 0) {
		r = prepare(f, &record, err);
		if (r == 0)
			tell(f->pool_fd, 0, NULL);
	}
	return r;
}

/* What the run met; true: and now is no time to try. */
static bool tell_news(int pool_fd, const struct mr_docker_pool_news *news)
{
	struct mr_docker_counters counters;
	struct mr_error err;
	bool wait;

	if (mr_docker_counters_open(pool_fd, &counters, &err) < 0)
		return true;
	mr_docker_counters_add(&counters, "used", news->used);
	mr_docker_counters_add(&counters, "missed", news->missed);
	mr_docker_counters_add(&counters, "unfit", news->unfit);
	if (news->why[0])
		json_object_set_new(counters.values, "last_unfit", json_string(news->why));
	wait = must_wait(&counters);
	mr_docker_counters_add(&counters, "put_off", wait);
	mr_docker_counters_close(&counters, &err); /* nobody is there to be told */
	return wait;
}

/* Of its parent it has nothing: who waits for an output of that to end does not wait for this. */
static bool detach(void)
{
	int null;

	for (int fd = 0; fd < 64; fd++)
		close(fd);
	null = open("/dev/null", O_RDWR);
	if (null != STDIN_FILENO || dup(null) != STDOUT_FILENO || dup(null) != STDERR_FILENO)
		return false;
	prctl(PR_SET_NAME, "menace-filler");
	signal(SIGALRM, SIG_DFL);
	alarm(MR_PATIENCE_S(DOCKER_POOL_FILL));
	return setsid() >= 0 && chdir("/") == 0;
}

_Noreturn static void be_filler(const struct mr_spec *spec, const struct mr_docker_pool_news *news)
{
	struct filler f = { .spec = spec, .leases_fd = -1, .queue_fd = -1 };
	struct mr_error err = MR_ERROR_INIT;
	sigset_t none;
	int r;

	sigemptyset(&none);
	if (!detach() || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(1);
	f.pool_fd = mr_docker_ledger_open(&err);
	if (f.pool_fd < 0 || tell_news(f.pool_fd, news))
		_exit(1);
	r = fill(&f, &err);
	if (r < 0)
		tell(f.pool_fd, r, &err);
	mr_docker_free(f.docker);
	_exit(r < 0);
}

void mr_docker_pool_refill(const struct mr_spec *spec, const struct mr_docker_pool_news *news)
{
	pid_t pid;

	if (spec->sandbox_pool == 0)
		return;
	pid = fork();
	if (pid == 0)
		be_filler(spec, news);
}
