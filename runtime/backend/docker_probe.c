/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, probe
 *
 * Would an engine take a run?  It is asked for what it is, and for nothing else.
 */
#include "runtime/backend/docker.h"
#include "runtime/base/patience.h"

#include "runtime/backend/docker_http.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/backend/handover.h"
#include "runtime/base/json.h"

int mr_docker_probe(json_t **ret_facts, struct mr_error *err)
{
	const struct mr_docker_request request = { .method = "GET",
						   .path = "/version",
						   .timeout_ms =
							   MR_PATIENCE_MS(HANDOVER_PROBE) / 2 };
	struct mr_docker_answer answer = { 0 };
	struct mr_docker *docker = NULL;
	int r = mr_docker_open(&docker, err);

	if (r < 0)
		return r;
	r = mr_docker_want(docker, &request, &answer, err);
	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, "version", ret_facts, err);
	mr_docker_answer_deinit(&answer);
	mr_docker_free(docker);
	return r;
}
