/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, HTTP: one engine, by its unix socket or by TCP
 *
 * DOCKER_HOST says where it is (unix:///PATH, tcp://HOST:PORT); without it the engine is at
 * /var/run/docker.sock.  With DOCKER_TLS_VERIFY, or where DOCKER_CERT_PATH is set, TCP is TLS with the
 * ca.pem, cert.pem and key.pem of that folder, all of which are needed, and the engine's name is
 * checked; a plain tcp:// is only taken to the loopback, for whoever can speak to an engine is root there.  Proxies of the
 * environment and ~/.netrc play no part.
 *
 * Every request has a limit of time and of size, and redirections are not followed.  Before the first
 * one the engine is asked, waiting for its answer, which versions of the API it has (GET /version);
 * MR_E_KERNEL: none that is known here.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_docker;
struct mr_docker_call;
struct mr_docker_wire;
struct mr_error;

/* Nothing is sent.  MR_E_USAGE: the environment's words are wrong. */
int mr_docker_open(struct mr_docker **ret, struct mr_error *err);
struct mr_docker *mr_docker_free(struct mr_docker *docker);
/* Has it the files of this host?  By its unix socket, yes. */
bool mr_docker_is_local(const struct mr_docker *docker);
/* "unix:///var/run/docker.sock", for messages; borrowed. */
const char *mr_docker_name(const struct mr_docker *docker);

/* The version of the API that is spoken, 44 for 1.44; 0: nothing was asked of it yet. */
unsigned int mr_docker_api(const struct mr_docker *docker);

struct mr_docker_request {
	const char *method, *path; /* path without the version */
	const char *body; /* JSON, or NULL; borrowed until the answer is there */
	size_t body_size;
	const char *content_type; /* NULL: JSON */
	uint64_t timeout_ms; /* 0: DOCKER_ANSWER of patience.def; UINT64_MAX: none */
};

struct mr_docker_answer {
	long status;
	char *body; /* owned; with a NUL behind it; NULL where there was none */
	size_t size;
};
void mr_docker_answer_deinit(struct mr_docker_answer *answer);

/* Ask and wait.  MR_E_KERNEL: nobody is there (ECONNREFUSED), or answers in time; MR_E_PROTO: what came is no
 * answer.  Any status is an answer. */
int mr_docker_ask(struct mr_docker *docker, const struct mr_docker_request *request,
		  struct mr_docker_answer *ret, struct mr_error *err);
/* The same where a status of 400 and above is an error, which has the engine's own message. */
int mr_docker_want(struct mr_docker *docker, const struct mr_docker_request *request,
		   struct mr_docker_answer *ret, struct mr_error *err);

/* The same for a document: new reference. */
int mr_docker_want_json(struct mr_docker *docker, const struct mr_docker_request *request,
			struct json_t **ret, struct mr_error *err);
/* A name as a part of a path or a query, so that nothing in it is a path of ours: malloc'd. */
char *mr_docker_escape(const char *name);

/* Ask without waiting; mr_docker_wait_some() drives it. */
int mr_docker_begin(struct mr_docker *docker, const struct mr_docker_request *request,
		    struct mr_docker_call **ret, struct mr_error *err);
/* 1: answered, *ret is the caller's; 0: not yet; negative: it failed. */
int mr_docker_result(struct mr_docker_call *call, struct mr_docker_answer *ret,
		     struct mr_error *err);
struct mr_docker_call *mr_docker_call_free(struct mr_docker_call *call);
/* Wait for calls and for the caller's descriptors, at most so long; fills revents. */
int mr_docker_wait_some(struct mr_docker *docker, struct pollfd *fds, size_t n_fds, int timeout_ms,
			struct mr_error *err);

/* A connection that an engine hands over (attach): bytes as they are after its answer.  Waits for
 * that answer. */
int mr_docker_wire_open(struct mr_docker *docker, const char *path, struct mr_docker_wire **ret,
			struct mr_error *err);
struct mr_docker_wire *mr_docker_wire_free(struct mr_docker_wire *wire);
int mr_docker_wire_fd(const struct mr_docker_wire *wire);
/* Bytes, 0 at the end, -EAGAIN when there are none now, or another negative errno.  With TLS read
 * until -EAGAIN: bytes may wait where poll() does not see them. */
long mr_docker_wire_read(struct mr_docker_wire *wire, void *buf, size_t size, struct mr_error *err);
long mr_docker_wire_write(struct mr_docker_wire *wire, const void *buf, size_t size,
			  struct mr_error *err);
