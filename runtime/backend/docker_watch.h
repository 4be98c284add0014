/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, watch: what this host's kernel itself saw of a container
 *
 * A container of an engine on this host is processes of this host's kernel, in a control group that the
 * engine made for it alone.  While menace-init, its first process, waits for its order, that
 * group is observed as one of ours would be (runtime/supervise/telemetry.h): so all of the payload is,
 * from before its first instruction, and menace-init itself, which is older, is not.
 */
#pragma once

#include "runtime/supervise/telemetry.h"

struct json_t;
struct mr_docker;

struct mr_docker_watch {
	bool begun;
	struct mr_loop *loop; /* NULL: nothing is observed */
	struct mr_telemetry_host *host;
	struct mr_telemetry telemetry;
	struct mr_error why; /* no group was found: why */
};

struct mr_docker_watched {
	const struct mr_spec *spec;
	const char *container; /* the engine's id of it */
	const char
		*init; /* the file of this host that its first process is of; "": it is elsewhere */
	unsigned int uid; /* as which that runs */
};

/* While menace-init waits.  What cannot be observed is a fact of the result, never a failure. */
void mr_docker_watch_begin(struct mr_docker_watch *watch, struct mr_docker *docker,
			   const struct mr_docker_watched *watched);
/* Readable (POLLIN) when mr_docker_watch_read() has something to do; -1: never. */
int mr_docker_watch_fd(const struct mr_docker_watch *watch);
void mr_docker_watch_read(struct mr_docker_watch *watch);
/* After the container has ended, once or more often. */
void mr_docker_watch_end(struct mr_docker_watch *watch);
/* Then the member "telemetry" of the result: new reference; NULL: it did not come to that.  failed: the
 * last events are of interest. */
struct json_t *mr_docker_watch_to_json(const struct mr_docker_watch *watch, bool failed);
void mr_docker_watch_deinit(struct mr_docker_watch *watch);
