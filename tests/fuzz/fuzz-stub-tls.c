/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a client sends where TLS is expected
 *
 * Holds: whatever comes, the handshake waits or fails, nothing is read as if it had
 * succeeded, and a reason is there.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/stub_tls.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mr_tls *tls;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_tls_session *session;
	int pair[2];
	ssize_t n;
	int r = 0;

	if (!tls) {
		signal(SIGPIPE, SIG_IGN);
		mr_assert(mr_tls_new(&tls, &err) == 0);
	}
	mr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	n = send(pair[0], data, size < 65536 ? size : 65536, MSG_NOSIGNAL);
	shutdown(pair[0], SHUT_WR);
	mr_assert(n >= 0 || size == 0);
	mr_assert(mr_tls_session_new(tls, pair[1], "a.example", &session, &err) == 0);
	for (int i = 0; r == 0 && i < 100; i++)
		r = mr_tls_handshake(session);
	mr_assert(r < 0 && mr_tls_why(session)[0]);
	mr_tls_bye(session);
	mr_tls_session_free(session);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
