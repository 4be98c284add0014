/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, HTTP
 *
 * A request is an easy handle in the engine's one multi handle, so that a wait for an answer and
 * a wait for the container's output are one poll.  A connection that is handed over is opened by
 * libcurl (socket, TLS) and spoken to by us: CURLOPT_CONNECT_ONLY.
 */
#include "runtime/backend/docker_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/docker_reply.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"

#define VERSION "/v1.40" /* of the API: engines from 2019 on, and podman */
#define SOCKET_DEFAULT "/var/run/docker.sock"
#define CONNECT_MS 5000L
#define HEAD_MAX 16384

struct mr_docker {
	CURLM *multi;
	char *name;
	char *socket; /* NULL: by TCP */
	char *base; /* "http://docker", "https://host:2376" */
	char *certs; /* folder; NULL: no TLS */
};

struct mr_docker_call {
	struct mr_docker *docker;
	CURL *easy;
	struct curl_slist *headers;
	struct mr_buf body;
	bool done, too_long;
	CURLcode code;
	char what[128], curl_said[CURL_ERROR_SIZE];
};

struct mr_docker_wire {
	CURL *easy;
	curl_socket_t fd;
	char head[HEAD_MAX]; /* the answer, and what came behind it */
	size_t used, at;
};

/* --- where it is ------------------------------------------------------------------------------ */

static bool is_loopback(const char *host)
{
	return mr_str_starts_with(host, "127.") || mr_str_starts_with(host, "localhost:") ||
	       mr_str_starts_with(host, "[::1]:");
}

static int take_tcp(struct mr_docker *docker, const char *host, struct mr_error *err)
{
	const char *verify = getenv("DOCKER_TLS_VERIFY"), *certs = getenv("DOCKER_CERT_PATH");
	const char *home = getenv("HOME");

	if ((verify && verify[0]) || (certs && certs[0]))
		docker->certs = certs && certs[0] ? mr_str_dup(certs)
						  : mr_str_format("%s/.docker", home ? home : "");
	if (!docker->certs && !is_loopback(host))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "DOCKER_HOST=tcp://%s without DOCKER_TLS_VERIFY: whoever listens on "
			      "the way would be root there; accepted without TLS: the loopback",
			      host);
	docker->base = mr_str_format("%s://%s", docker->certs ? "https" : "http", host);
	return 0;
}

static int take_host(struct mr_docker *docker, struct mr_error *err)
{
	const char *host = getenv("DOCKER_HOST");

	if (!host || !host[0])
		host = "unix://" SOCKET_DEFAULT;
	docker->name = mr_str_dup(host);
	if (mr_str_starts_with(host, "tcp://"))
		return take_tcp(docker, host + strlen("tcp://"), err);
	if (!mr_str_starts_with(host, "unix:///"))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "DOCKER_HOST=%.200s; accepted: unix:///PATH and tcp://HOST:PORT",
			      host);
	docker->socket = mr_str_dup(host + strlen("unix://"));
	docker->base = mr_str_dup("http://docker");
	return 0;
}

int mr_docker_open(struct mr_docker **ret, struct mr_error *err)
{
	struct mr_docker *docker = mr_str_alloc(sizeof(*docker));
	int r = take_host(docker, err);

	if (r == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		r = mr_err(err, MR_E_SYS, ENOMEM, "libcurl cannot begin");
	if (r == 0) {
		docker->multi = curl_multi_init();
		mr_assert(docker->multi);
		*ret = docker;
		return 0;
	}
	mr_docker_free(docker);
	return r;
}

struct mr_docker *mr_docker_free(struct mr_docker *docker)
{
	if (!docker)
		return NULL;
	curl_multi_cleanup(docker->multi);
	free(docker->name);
	free(docker->socket);
	free(docker->base);
	free(docker->certs);
	free(docker);
	return NULL;
}

bool mr_docker_is_local(const struct mr_docker *docker)
{
	return docker->socket != NULL;
}

const char *mr_docker_name(const struct mr_docker *docker)
{
	return docker->name;
}

/* --- requests ------------------------------------------------------------------------------------ */

void mr_docker_answer_deinit(struct mr_docker_answer *answer)
{
	free(answer->body);
	*answer = (struct mr_docker_answer){ 0 };
}

static size_t on_body(char *data, size_t one, size_t n, void *owner)
{
	struct mr_docker_call *call = owner;

	if (call->body.len + n * one > MR_DOCKER_REPLY_MAX) {
		call->too_long = true;
		return 0;
	}
	mr_buf_addn(&call->body, data, n * one);
	return n * one;
}

static int set_certs(const struct mr_docker *docker, CURL *easy)
{
	mr_auto_free char *ca = mr_str_format("%s/ca.pem", docker->certs);
	mr_auto_free char *cert = mr_str_format("%s/cert.pem", docker->certs);
	mr_auto_free char *key = mr_str_format("%s/key.pem", docker->certs);

	return curl_easy_setopt(easy, CURLOPT_CAINFO, ca) ||
	       curl_easy_setopt(easy, CURLOPT_SSLCERT, cert) ||
	       curl_easy_setopt(easy, CURLOPT_SSLKEY, key) ||
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) ||
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
}

/* What holds for every connection. */
static CURL *make_easy(const struct mr_docker *docker, const char *path, struct mr_error *err)
{
	mr_auto_free char *url = mr_str_format("%s" VERSION "%s", docker->base, path);
	CURL *easy = curl_easy_init();
	int failed;

	mr_assert(easy);
	failed = curl_easy_setopt(easy, CURLOPT_URL, url) ||
		 curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") ||
		 curl_easy_setopt(easy, CURLOPT_PROXY, "") ||
		 curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ||
		 curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) ||
		 curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ||
		 curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	if (!failed && docker->socket)
		failed = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, docker->socket);
	if (!failed && docker->certs)
		failed = set_certs(docker, easy);
	if (!failed)
		return easy;
	curl_easy_cleanup(easy);
	mr_err(err, MR_E_SYS, EINVAL, "libcurl refuses an option for %s", docker->name);
	return NULL;
}

static int set_request(struct mr_docker_call *call, const struct mr_docker_request *request)
{
	const uint64_t timeout = request->timeout_ms ? request->timeout_ms : MR_DOCKER_TIMEOUT_MS;
	const bool posts = strcmp(request->method, "POST") == 0;
	mr_auto_free char *type =
		mr_str_format("Content-Type: %s",
			      request->content_type ? request->content_type : "application/json");
	CURL *easy = call->easy;

	call->headers = curl_slist_append(curl_slist_append(NULL, type), "Expect:");
	mr_assert(call->headers);
	return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers) ||
	       curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_said) ||
	       curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) ||
	       curl_easy_setopt(easy, CURLOPT_WRITEDATA, call) ||
	       curl_easy_setopt(easy, CURLOPT_PRIVATE, call) ||
	       (timeout != UINT64_MAX &&
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout)) ||
	       (posts && curl_easy_setopt(easy, CURLOPT_POST, 1L)) ||
	       (posts &&
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "")) ||
	       (posts && curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
					  (curl_off_t)request->body_size)) ||
	       (!posts && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method));
}

int mr_docker_begin(struct mr_docker *docker, const struct mr_docker_request *request,
		    struct mr_docker_call **ret, struct mr_error *err)
{
	struct mr_docker_call *call = mr_str_alloc(sizeof(*call));

	call->docker = docker;
	/* Without the query, which may be long. */
	snprintf(call->what, sizeof(call->what), "%s %.*s", request->method,
		 (int)strcspn(request->path, "?"), request->path);
	call->easy = make_easy(docker, request->path, err);
	if (call->easy && (set_request(call, request) != 0 ||
			   curl_multi_add_handle(docker->multi, call->easy) != CURLM_OK)) {
		mr_err(err, MR_E_SYS, EINVAL, "libcurl refuses a request to %s", docker->name);
		curl_easy_cleanup(call->easy);
		call->easy = NULL;
	}
	if (!call->easy) {
		mr_docker_call_free(call);
		return -EINVAL;
	}
	*ret = call;
	return 0;
}

struct mr_docker_call *mr_docker_call_free(struct mr_docker_call *call)
{
	if (!call)
		return NULL;
	if (call->easy) {
		curl_multi_remove_handle(call->docker->multi, call->easy);
		curl_easy_cleanup(call->easy);
	}
	curl_slist_free_all(call->headers);
	mr_buf_deinit(&call->body);
	free(call);
	return NULL;
}

/* Take notice of what has ended. */
static int drive(struct mr_docker *docker, struct mr_error *err)
{
	int running = 0, left = 0;
	CURLMsg *msg;

	if (curl_multi_perform(docker->multi, &running) != CURLM_OK)
		return mr_err(err, MR_E_SYS, EIO, "libcurl cannot go on");
	while ((msg = curl_multi_info_read(docker->multi, &left))) {
		struct mr_docker_call *call = NULL;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		call->done = true;
		call->code = msg->data.result;
	}
	return 0;
}

int mr_docker_wait_some(struct mr_docker *docker, struct pollfd *fds, size_t n_fds, int timeout_ms,
			struct mr_error *err)
{
	struct curl_waitfd waits[8];
	int r = drive(docker, err);

	mr_assert(n_fds <= N_ELEMENTS(waits));
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_fds; i++) {
		fds[i].revents = 0;
		waits[i] = (struct curl_waitfd){
			.fd = fds[i].fd,
			.events = (fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
				  (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0)
		};
	}
	if (curl_multi_poll(docker->multi, waits, (unsigned int)n_fds, timeout_ms, NULL) !=
	    CURLM_OK)
		return mr_err(err, MR_E_SYS, EIO, "libcurl cannot wait");
	/* libcurl tells of what it was asked for only, not of a peer that is gone. */
	if (n_fds > 0 && poll(fds, n_fds, 0) < 0 && errno != EINTR)
		return mr_err(err, MR_E_SYS, errno, "poll: %m");
	return drive(docker, err);
}

static int explain(const struct mr_docker_call *call, struct mr_error *err)
{
	const char *said = call->curl_said[0] ? call->curl_said : curl_easy_strerror(call->code);
	const bool unheard =
		call->code == CURLE_COULDNT_CONNECT || call->code == CURLE_OPERATION_TIMEDOUT ||
		call->code == CURLE_COULDNT_RESOLVE_HOST || call->code == CURLE_GOT_NOTHING ||
		call->code == CURLE_RECV_ERROR || call->code == CURLE_SEND_ERROR;

	if (call->too_long)
		return mr_err(err, MR_E_PROTO, EFBIG,
			      "%s: the engine's answer has more than %zu "
			      "bytes",
			      call->what, MR_DOCKER_REPLY_MAX);
	return mr_err(err, unheard ? MR_E_KERNEL : MR_E_PROTO, unheard ? ECONNREFUSED : EPROTO,
		      "%s: no answer of the Docker Engine at %.100s: %s", call->what,
		      call->docker->name, said);
}

int mr_docker_result(struct mr_docker_call *call, struct mr_docker_answer *ret,
		     struct mr_error *err)
{
	if (!call->done)
		return 0;
	if (call->code != CURLE_OK)
		return explain(call, err);
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &ret->status);
	ret->size = call->body.len;
	ret->body = mr_take_ptr(call->body.text);
	call->body = (struct mr_buf){ 0 };
	return 1;
}

int mr_docker_ask(struct mr_docker *docker, const struct mr_docker_request *request,
		  struct mr_docker_answer *ret, struct mr_error *err)
{
	struct mr_docker_call *call = NULL;
	int r = mr_docker_begin(docker, request, &call, err);

	if (r < 0)
		return r;
	while ((r = mr_docker_result(call, ret, err)) == 0 &&
	       (r = mr_docker_wait_some(docker, NULL, 0, 1000, err)) == 0)
		;
	mr_docker_call_free(call);
	return r < 0 ? r : 0;
}

int mr_docker_want(struct mr_docker *docker, const struct mr_docker_request *request,
		   struct mr_docker_answer *ret, struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	char message[300];
	int r = mr_docker_ask(docker, request, &answer, err);

	if (r < 0)
		return r;
	if (answer.status < 400) {
		*ret = answer;
		return 0;
	}
	mr_docker_reply_message(answer.body, answer.size, message, sizeof(message));
	r = mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "the engine refuses %s %.*s: %ld %s",
		   request->method, (int)strcspn(request->path, "?"), request->path, answer.status,
		   message);
	mr_docker_answer_deinit(&answer);
	return r;
}

/* --- connections that are handed over -------------------------------------------------------------- */

static long no_wire(struct mr_error *err, CURLcode code, const char *verb)
{
	return mr_err(err, MR_E_PROTO, EPIPE, "%s the container's streams: %s", verb,
		      curl_easy_strerror(code));
}

long mr_docker_wire_read(struct mr_docker_wire *wire, void *buf, size_t size, struct mr_error *err)
{
	size_t n = 0;
	CURLcode code;

	if (wire->at < wire->used) {
		n = wire->used - wire->at < size ? wire->used - wire->at : size;
		memcpy(buf, wire->head + wire->at, n);
		wire->at += n;
		return (long)n;
	}
	code = curl_easy_recv(wire->easy, buf, size, &n);
	if (code == CURLE_AGAIN)
		return -EAGAIN;
	return code == CURLE_OK ? (long)n : no_wire(err, code, "read");
}

long mr_docker_wire_write(struct mr_docker_wire *wire, const void *buf, size_t size,
			  struct mr_error *err)
{
	size_t n = 0;
	CURLcode code = curl_easy_send(wire->easy, buf, size, &n);

	if (code == CURLE_AGAIN)
		return -EAGAIN;
	return code == CURLE_OK ? (long)n : no_wire(err, code, "write");
}

static int wait_wire(struct mr_docker_wire *wire, short events, uint64_t until_ns,
		     struct mr_error *err)
{
	struct pollfd p = { .fd = wire->fd, .events = events };
	const uint64_t now = mr_now_ns();

	if (now >= until_ns)
		return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
			      "attach: the Docker Engine does not answer in %d ms",
			      MR_DOCKER_TIMEOUT_MS);
	if (poll(&p, 1, (int)((until_ns - now) / 1000000) + 1) < 0 && errno != EINTR)
		return mr_err(err, MR_E_SYS, errno, "poll: %m");
	return 0;
}

static int send_head(struct mr_docker_wire *wire, const char *path, uint64_t until_ns,
		     struct mr_error *err)
{
	mr_auto_free char *text = mr_str_format("POST " VERSION "%s HTTP/1.1\r\nHost: docker\r\n"
						"Content-Type: text/plain\r\nContent-Length: 0\r\n"
						"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
						path);
	size_t at = 0, size = strlen(text);

	while (at < size) {
		long n = mr_docker_wire_write(wire, text + at, size - at, err);

		if (n == -EAGAIN)
			n = wait_wire(wire, POLLOUT, until_ns, err);
		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return 0;
}

/* "HTTP/1.1 101 ..." or, by older engines and podman, "HTTP/1.1 200 OK". */
static int check_head(const struct mr_docker_wire *wire, struct mr_error *err)
{
	char line[80];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(wire->head, "\r\n"), wire->head);
	for (char *p = line; *p; p++)
		*p = (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f ? '?' : *p;
	if ((mr_str_starts_with(line, "HTTP/1.1 101") ||
	     mr_str_starts_with(line, "HTTP/1.1 200")) &&
	    (line[12] == ' ' || line[12] == '\0'))
		return 0;
	return mr_err(err, MR_E_PROTO, EPROTO, "attach: the engine answers \"%s\"", line);
}

/* The answer up to its empty line; what is behind that is the stream's. */
static int read_head(struct mr_docker_wire *wire, uint64_t until_ns, struct mr_error *err)
{
	char *end = NULL;

	while (!end) {
		size_t n = 0;
		CURLcode code;

		if (wire->used == HEAD_MAX - 1)
			return mr_err(err, MR_E_PROTO, EFBIG,
				      "attach: the engine's answer has no end");
		code = curl_easy_recv(wire->easy, wire->head + wire->used,
				      HEAD_MAX - 1 - wire->used, &n);
		if (code == CURLE_AGAIN) {
			int r = wait_wire(wire, POLLIN, until_ns, err);

			if (r < 0)
				return r;
			continue;
		}
		if (code != CURLE_OK)
			return (int)no_wire(err, code, "attach to");
		if (n == 0)
			return mr_err(err, MR_E_PROTO, EPIPE,
				      "attach: the engine ends the connection");
		wire->used += n;
		end = memmem(wire->head, wire->used, "\r\n\r\n", 4);
	}
	wire->at = (size_t)(end - wire->head) + 4;
	return check_head(wire, err);
}

static int connect_wire(struct mr_docker *docker, struct mr_docker_wire *wire, const char *path,
			struct mr_error *err)
{
	const uint64_t until_ns = mr_now_ns() + MR_DOCKER_TIMEOUT_MS * UINT64_C(1000000);
	char said[CURL_ERROR_SIZE] = "";
	CURLcode code;
	int r;

	wire->easy = make_easy(docker, path, err);
	if (!wire->easy)
		return -EINVAL;
	if (curl_easy_setopt(wire->easy, CURLOPT_CONNECT_ONLY, 1L) ||
	    curl_easy_setopt(wire->easy, CURLOPT_ERRORBUFFER, said))
		return mr_err(err, MR_E_SYS, EINVAL, "libcurl refuses to connect only");
	code = curl_easy_perform(wire->easy);
	curl_easy_setopt(wire->easy, CURLOPT_ERRORBUFFER, NULL);
	if (code != CURLE_OK)
		return mr_err(err, MR_E_KERNEL, ECONNREFUSED,
			      "attach: no answer of the Docker Engine at %.100s: %s", docker->name,
			      said[0] ? said : curl_easy_strerror(code));
	if (curl_easy_getinfo(wire->easy, CURLINFO_ACTIVESOCKET, &wire->fd) != CURLE_OK ||
	    wire->fd == CURL_SOCKET_BAD)
		return mr_err(err, MR_E_SYS, EBADF, "libcurl has no socket");
	r = send_head(wire, path, until_ns, err);
	return r < 0 ? r : read_head(wire, until_ns, err);
}

int mr_docker_wire_open(struct mr_docker *docker, const char *path, struct mr_docker_wire **ret,
			struct mr_error *err)
{
	struct mr_docker_wire *wire = mr_str_alloc(sizeof(*wire));
	int r;

	wire->fd = CURL_SOCKET_BAD;
	r = connect_wire(docker, wire, path, err);
	if (r < 0) {
		mr_docker_wire_free(wire);
		return r;
	}
	*ret = wire;
	return 0;
}

struct mr_docker_wire *mr_docker_wire_free(struct mr_docker_wire *wire)
{
	if (!wire)
		return NULL;
	if (wire->easy)
		curl_easy_cleanup(wire->easy);
	free(wire);
	return NULL;
}

int mr_docker_wire_fd(const struct mr_docker_wire *wire)
{
	return wire->fd;
}
