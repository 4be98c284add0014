/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Screen
 *
 * The alternate screen and a hidden cursor, so that what was there before is there
 * again afterwards.  Signals come by descriptor: no handler can meet us half-way.
 */
#include "tools/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"

#define TAKE "\033[?1049h\033[?25l"
#define GIVE "\033[?25h\033[?1049l"

bool mr_screen_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && term[0] &&
	       strcmp(term, "dumb") != 0;
}

static int take(struct mr_screen *screen, struct mr_error *err)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &screen->saved) < 0)
		return mr_err(err, MR_E_SYS, errno, "terminal: %m");
	raw = screen->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return mr_err(err, MR_E_SYS, errno, "terminal: %m");
	screen->taken = true;
	return mr_write_full(STDOUT_FILENO, TAKE, strlen(TAKE));
}

static void give_back(struct mr_screen *screen)
{
	if (!screen->taken)
		return;
	fflush(stdout);
	(void)mr_write_full(STDOUT_FILENO, GIVE, strlen(GIVE)); /* it may be gone */
	tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->saved);
	screen->taken = false;
}

int mr_screen_open(struct mr_screen *screen, struct mr_error *err)
{
	static const int more[] = { SIGPIPE, SIGTSTP, SIGWINCH };
	int r;

	*screen = (struct mr_screen){ .signals = -1 };
	screen->signals = mr_signals_open(more, N_ELEMENTS(more), NULL, err);
	if (screen->signals < 0)
		return screen->signals;
	r = take(screen, err);
	if (r < 0)
		mr_screen_close(screen);
	return r;
}

void mr_screen_close(struct mr_screen *screen)
{
	give_back(screen);
	screen->signals = mr_close(screen->signals);
}

void mr_screen_size(int *ret_columns, int *ret_lines)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){ 0 };
	*ret_columns = size.ws_col ? size.ws_col : 80;
	*ret_lines = size.ws_row ? size.ws_row : 24;
}

static int take_signal(struct mr_screen *screen)
{
	struct signalfd_siginfo info;
	struct mr_error err;

	if (read(screen->signals, &info, sizeof(info)) != sizeof(info))
		return MR_SCREEN_DRAW;
	if (info.ssi_signo == SIGWINCH)
		return MR_SCREEN_DRAW;
	if (info.ssi_signo != SIGTSTP)
		return MR_SCREEN_SIGNAL - (int)info.ssi_signo;
	give_back(screen);
	kill(getpid(), SIGSTOP);
	return take(screen, &err) < 0 ? MR_SCREEN_GONE : MR_SCREEN_DRAW;
}

static int take_key(void)
{
	unsigned char key;
	ssize_t n = read(STDIN_FILENO, &key, 1);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return MR_SCREEN_DRAW;
	return n == 1 ? key : MR_SCREEN_GONE;
}

int mr_screen_wait(struct mr_screen *screen, uint64_t at_ns)
{
	struct pollfd p[] = { { .fd = screen->signals, .events = POLLIN },
			      { .fd = STDIN_FILENO, .events = POLLIN } };
	uint64_t now = mr_now_ns();
	int left_ms = at_ns > now ? (int)((at_ns - now + 999999) / 1000000) : 0;
	int n = poll(p, 2, left_ms);

	if (n < 0)
		return errno == EINTR ? MR_SCREEN_DRAW : MR_SCREEN_GONE;
	if (p[0].revents)
		return take_signal(screen);
	return p[1].revents ? take_key() : MR_SCREEN_TIME;
}
