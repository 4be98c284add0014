/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-docker: a run in a container of a Docker Engine
 *
 * Started by menace-run (runtime/backend/handover.h), and by menace for what its commands want of an
 * engine (tools/docker_tasks.h); what is asked of the engine and why is in runtime/backend/docker*.h.
 * A program of its own: libcurl comes with thirty shared objects.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/backend/docker.h"
#include "runtime/backend/docker_pool.h"
#include "runtime/backend/errand.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "tools/docker_tasks.h"

static int fail(const struct mr_error *err)
{
	mr_log_error("%s", err->msg);
	return mr_errc_exit_status(err->code);
}

static int probe(struct mr_errand *errand, struct mr_error *err)
{
	struct mr_error why = MR_ERROR_INIT;
	json_t *facts = NULL;
	int r = mr_docker_probe(&facts, &why);

	return mr_errand_report_probe(errand, r == 0, r < 0 ? why.msg : NULL, 0, facts, err);
}

/* The result first: who waits for it does not wait for the pool. */
static int run(struct mr_errand *errand, struct mr_error *err)
{
	struct mr_docker_pool_news news = { 0 };
	int r = mr_errand_report(errand, mr_docker_run(errand, &news), err);

	mr_docker_pool_refill(&errand->spec, &news);
	return r;
}

int main(int argc, char **argv)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_errand errand;
	int r;

	mr_log_init("menace-docker", MR_LOG_NOTICE, MR_LOG_TEXT);
	if (mr_inherit_settle_helper(&err) < 0)
		return fail(&err);
	if (argc > 2 && strcmp(argv[1], "task") == 0) {
		r = mr_docker_task(argv + 2, &err);
		return r < 0 ? fail(&err) : 0;
	}
	r = mr_errand_open(argc, argv, &errand, &err);
	if (r == 0) {
		r = errand.probe_only ? probe(&errand, &err) : run(&errand, &err);
		mr_errand_deinit(&errand);
	}
	return r == 0 ? 0 : fail(&err);
}
