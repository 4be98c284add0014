/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, HTTP
 *
 * A request is an easy handle in the engine's one multi handle, so that a wait for an answer and
 * a wait for the container's output are one poll.  A connection that is handed over is opened by
 * libcurl (socket, TLS) and spoken to by us: CURLOPT_CONNECT_ONLY.
 *
 * An engine serves a span of versions of its API, newer ones no longer the oldest of ours: before the
 * first request it is asked for the span, and the newest that both know is part of every path.
 */
#include "runtime/backend/docker_http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/docker_reply.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

/* Of the API: engines from 2019 on, and podman; the newest is the oldest that Docker 29 serves. */
#define API_OLDEST 40
#define API_NEWEST 44
#define SOCKET_DEFAULT "/var/run/docker.sock"
#define NAME_MAX_BYTES 253 /* of a host */
#define HEAD_MAX 16384

struct mr_docker {
	CURLM *multi;
	char *name;
	char *socket; /* NULL: by TCP */
	char *base; /* "http://docker", "https://host:2376" */
	char *certs; /* folder; NULL: no TLS */
	unsigned int api; /* 1.api is spoken; 0: not asked yet */
	char version[16]; /* "/v1.41"; "": not asked yet */
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

/* HOST:PORT and nothing else: what else an URL may have (another host behind an @) is not taken
 * apart here as libcurl does it.  The length of the host; 0: it is something else. */
static size_t host_length(const char *text)
{
	const bool v6 = text[0] == '[';
	const char *letters = v6 ? "0123456789abcdefABCDEF:."
				 : "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   ".-_";
	const size_t n = strspn(text + v6, letters), all = n + 2 * v6;
	uint64_t port = 0;

	if (n == 0 || n > NAME_MAX_BYTES || (v6 && text[1 + n] != ']') || text[all] != ':' ||
	    mr_units_parse_count(text + all + 1, &port, NULL) < 0 || port == 0 || port > 65535)
		return 0;
	return all;
}

/* By what it is, not by how it is written: 127.example is a name like any other. */
static bool is_loopback(const char *text, size_t n)
{
	char host[NAME_MAX_BYTES + 3];
	struct in6_addr v6;
	struct in_addr v4;

	snprintf(host, sizeof(host), "%.*s", (int)n, text);
	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (host[0] != '[')
		return false;
	host[n - 1] = '\0';
	return inet_pton(AF_INET6, host + 1, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* libcurl would say of a missing file what it says of a wrong one. */
static int check_certs(const struct mr_docker *docker, struct mr_error *err)
{
	static const char *const names[] = { "ca.pem", "cert.pem", "key.pem" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		mr_auto_free char *path = mr_str_format("%s/%s", docker->certs, names[i]);

		if (access(path, R_OK) < 0)
			return mr_err(err, MR_E_USAGE, errno,
				      "TLS to the Docker Engine: %s: %m; DOCKER_CERT_PATH has to "
				      "be a folder with ca.pem, cert.pem and key.pem",
				      path);
	}
	return 0;
}

static int take_tcp(struct mr_docker *docker, const char *host, struct mr_error *err)
{
	const char *verify = getenv("DOCKER_TLS_VERIFY"), *certs = getenv("DOCKER_CERT_PATH");
	const char *home = getenv("HOME");
	const size_t n = host_length(host);

	if (n == 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "DOCKER_HOST=tcp://%.200s; accepted: unix:///PATH and "
			      "tcp://HOST:PORT",
			      host);
	if ((verify && verify[0]) || (certs && certs[0]))
		docker->certs = certs && certs[0] ? mr_str_dup(certs)
						  : mr_str_format("%s/.docker", home ? home : "");
	if (docker->certs && check_certs(docker, err) < 0)
		return -EINVAL;
	if (!docker->certs && !is_loopback(host, n))
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
	if (!mr_str_utf8_valid(host, strlen(host))) /* the result names it */
		return mr_err(err, MR_E_USAGE, EILSEQ,
			      "DOCKER_HOST is not UTF-8; accepted: unix:///PATH and "
			      "tcp://HOST:PORT");
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
	       curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) ||
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) ||
	       curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
}

/* What holds for every connection. */
static CURL *make_easy(const struct mr_docker *docker, const char *path, struct mr_error *err)
{
	mr_auto_free char *url = mr_str_format("%s%s%s", docker->base, docker->version, path);
	CURL *easy = curl_easy_init();
	int failed;

	mr_assert(easy);
	failed = curl_easy_setopt(easy, CURLOPT_URL, url) ||
		 curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") ||
		 curl_easy_setopt(easy, CURLOPT_PROXY, "") ||
		 curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ||
		 curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) ||
		 curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ||
		 curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
				  (long)MR_PATIENCE_MS(DOCKER_CONNECT));
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
	const uint64_t timeout =
		request->timeout_ms ? request->timeout_ms : MR_PATIENCE_MS(DOCKER_ANSWER);
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

static int begin(struct mr_docker *docker, const struct mr_docker_request *request,
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

/* Take notice of what has ended; how many did. */
static int drive(struct mr_docker *docker, struct mr_error *err)
{
	int running = 0, left = 0, n = 0;
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
		n++;
	}
	return n;
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
	/* What has ended already is what the caller waits for: nothing else would wake him. */
	if (curl_multi_poll(docker->multi, waits, (unsigned int)n_fds, r > 0 ? 0 : timeout_ms,
			    NULL) != CURLM_OK)
		return mr_err(err, MR_E_SYS, EIO, "libcurl cannot wait");
	/* libcurl tells of what it was asked for only, not of a peer that is gone. */
	if (n_fds > 0 && poll(fds, n_fds, 0) < 0 && errno != EINTR)
		return mr_err(err, MR_E_SYS, errno, "poll: %m");
	r = drive(docker, err);
	return r < 0 ? r : 0;
}

/* Of a socket that is a file libcurl tells of a host and a port that nobody named. */
static const char *why_of(const struct mr_docker_call *call)
{
	long errnum = 0;

	if (call->code == CURLE_COULDNT_CONNECT && call->docker->socket &&
	    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &errnum) == CURLE_OK && errnum != 0)
		return strerror((int)errnum);
	return call->curl_said[0] ? call->curl_said : curl_easy_strerror(call->code);
}

/* 0: it is none of TLS. */
static int explain_tls(const struct mr_docker *docker, const char *what, CURLcode code,
		       const char *said, struct mr_error *err)
{
	const char *why = NULL;

	if (!docker->certs)
		return 0;
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		why = "is not the one that ca.pem and its name stand for";
	else if (code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM)
		why = "cannot be asked with the files of DOCKER_CERT_PATH";
	else if (strstr(said, " alert "))
		why = "refuses cert.pem";
	else if (code == CURLE_SSL_CONNECT_ERROR)
		why = "does not speak TLS with us";
	if (!why)
		return 0;
	return mr_err(err, MR_E_DENIED, EACCES, "%s: the Docker Engine at %.100s %s: %s", what,
		      docker->name, why, said);
}

static int explain(const struct mr_docker_call *call, struct mr_error *err)
{
	const char *said = why_of(call);
	/* With TLS 1.3 it does so when the connection is there already, and its alert may be lost. */
	const bool may_refuse = call->docker->certs &&
				(call->code == CURLE_RECV_ERROR || call->code == CURLE_SEND_ERROR);
	const int r = explain_tls(call->docker, call->what, call->code, said, err);
	const bool unheard =
		call->code == CURLE_COULDNT_CONNECT || call->code == CURLE_OPERATION_TIMEDOUT ||
		call->code == CURLE_COULDNT_RESOLVE_HOST || call->code == CURLE_GOT_NOTHING ||
		call->code == CURLE_RECV_ERROR || call->code == CURLE_SEND_ERROR;

	if (r < 0)
		return r;
	if (call->too_long)
		return mr_err(err, MR_E_PROTO, EFBIG,
			      "%s: the engine's answer has more than %zu "
			      "bytes",
			      call->what, MR_DOCKER_REPLY_MAX);
	return mr_err(err, unheard ? MR_E_KERNEL : MR_E_PROTO,
		      call->code == CURLE_COULDNT_CONNECT ? ECONNREFUSED
		      : unheard				  ? ETIMEDOUT
							  : EPROTO,
		      "%s: no answer of the Docker Engine at %.100s%s: %s", call->what,
		      call->docker->name, may_refuse ? ", which may refuse cert.pem" : "", said);
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

static int ask(struct mr_docker *docker, const struct mr_docker_request *request,
	       struct mr_docker_answer *ret, struct mr_error *err)
{
	const int look_ms = MR_PATIENCE_MS(DOCKER_ASK_LOOK);
	struct mr_docker_call *call = NULL;
	int r = begin(docker, request, &call, err);

	if (r < 0)
		return r;
	while ((r = mr_docker_result(call, ret, err)) == 0 &&
	       (r = mr_docker_wait_some(docker, NULL, 0, look_ms, err)) == 0)
		;
	mr_docker_call_free(call);
	return r < 0 ? r : 0;
}

static int want(struct mr_docker *docker, const struct mr_docker_request *request,
		struct mr_docker_answer *ret, struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	char message[300];
	int r = ask(docker, request, &answer, err);

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

/* --- the version ------------------------------------------------------------------------------------ */

static int choose_api(struct mr_docker *docker, const struct mr_docker_apis *its,
		      struct mr_error *err)
{
	if (its->newest < API_OLDEST)
		return mr_err(err, MR_E_KERNEL, EPROTONOSUPPORT,
			      "the Docker Engine at %.100s has the API up to 1.%u, and 1.%d is "
			      "needed: Docker 19.03 or newer",
			      docker->name, its->newest, API_OLDEST);
	if (its->oldest > API_NEWEST)
		return mr_err(err, MR_E_KERNEL, EPROTONOSUPPORT,
			      "the Docker Engine at %.100s has the API from 1.%u on, and menace "
			      "knows it up to 1.%d: a newer menace or an older engine is needed",
			      docker->name, its->oldest, API_NEWEST);
	docker->api = its->newest < API_NEWEST ? its->newest : API_NEWEST;
	snprintf(docker->version, sizeof(docker->version), "/v1.%u", docker->api);
	return 0;
}

/* Once.  Who asks for something within a time has the answer to this within it, too. */
static int settle_version(struct mr_docker *docker, uint64_t timeout_ms, struct mr_error *err)
{
	const struct mr_docker_request request = {
		.method = "GET",
		.path = "/version",
		.timeout_ms = timeout_ms < MR_PATIENCE_MS(DOCKER_ANSWER)
				      ? timeout_ms
				      : MR_PATIENCE_MS(DOCKER_ANSWER)
	};
	struct mr_docker_answer answer = { 0 };
	mr_auto_json json_t *reply = NULL;
	struct mr_docker_apis its = { 0 };
	int r;

	if (docker->api)
		return 0;
	r = want(docker, &request, &answer, err);
	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, "GET /version", &reply, err);
	if (r == 0)
		r = mr_docker_reply_apis(reply, &its, err);
	mr_docker_answer_deinit(&answer);
	return r < 0 ? r : choose_api(docker, &its, err);
}

unsigned int mr_docker_api(const struct mr_docker *docker)
{
	return docker->api;
}

/* --- requests, with it ------------------------------------------------------------------------------ */

int mr_docker_begin(struct mr_docker *docker, const struct mr_docker_request *request,
		    struct mr_docker_call **ret, struct mr_error *err)
{
	int r = settle_version(docker, request->timeout_ms, err);

	return r < 0 ? r : begin(docker, request, ret, err);
}

int mr_docker_ask(struct mr_docker *docker, const struct mr_docker_request *request,
		  struct mr_docker_answer *ret, struct mr_error *err)
{
	int r = settle_version(docker, request->timeout_ms, err);

	return r < 0 ? r : ask(docker, request, ret, err);
}

int mr_docker_want(struct mr_docker *docker, const struct mr_docker_request *request,
		   struct mr_docker_answer *ret, struct mr_error *err)
{
	int r = settle_version(docker, request->timeout_ms, err);

	return r < 0 ? r : want(docker, request, ret, err);
}

int mr_docker_want_json(struct mr_docker *docker, const struct mr_docker_request *request,
			json_t **ret, struct mr_error *err)
{
	struct mr_docker_answer answer = { 0 };
	int r = mr_docker_want(docker, request, &answer, err);

	if (r == 0)
		r = mr_docker_reply_parse(answer.body, answer.size, request->path, ret, err);
	mr_docker_answer_deinit(&answer);
	return r;
}

char *mr_docker_escape(const char *name)
{
	char *escaped = curl_easy_escape(NULL, name, 0);
	char *copy;

	mr_assert(escaped);
	copy = mr_str_dup(escaped);
	curl_free(escaped);
	return copy;
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

	if (mr_now_ns() >= until_ns)
		return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
			      "attach: the Docker Engine does not answer in %ju ms",
			      (uintmax_t)MR_PATIENCE_MS(DOCKER_ANSWER));
	if (mr_clock_poll(&p, 1, until_ns) < 0 && errno != EINTR)
		return mr_err(err, MR_E_SYS, errno, "poll: %m");
	return 0;
}

static int send_head(const struct mr_docker *docker, struct mr_docker_wire *wire, const char *path,
		     uint64_t until_ns, struct mr_error *err)
{
	mr_auto_free char *text = mr_str_format("POST %s%s HTTP/1.1\r\nHost: docker\r\n"
						"Content-Type: text/plain\r\nContent-Length: 0\r\n"
						"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
						docker->version, path);
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
	const uint64_t until_ns = mr_now_ns() + MR_PATIENCE_NS(DOCKER_ANSWER);
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
	if (code != CURLE_OK) {
		const char *why = said[0] ? said : curl_easy_strerror(code);

		r = explain_tls(docker, "attach", code, why, err);
		return r < 0 ? r
			     : mr_err(err, MR_E_KERNEL, ECONNREFUSED,
				      "attach: no answer of the Docker Engine at %.100s: %s",
				      docker->name, why);
	}
	if (curl_easy_getinfo(wire->easy, CURLINFO_ACTIVESOCKET, &wire->fd) != CURLE_OK ||
	    wire->fd == CURL_SOCKET_BAD)
		return mr_err(err, MR_E_SYS, EBADF, "libcurl has no socket");
	r = send_head(docker, wire, path, until_ns, err);
	return r < 0 ? r : read_head(wire, until_ns, err);
}

int mr_docker_wire_open(struct mr_docker *docker, const char *path, struct mr_docker_wire **ret,
			struct mr_error *err)
{
	struct mr_docker_wire *wire = mr_str_alloc(sizeof(*wire));
	int r = settle_version(docker, MR_PATIENCE_MS(DOCKER_ANSWER), err);

	wire->fd = CURL_SOCKET_BAD;
	if (r == 0)
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
