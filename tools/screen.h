/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Screen: the caller's terminal, for a command that draws on it and reads single keys
 *
 * What was taken is given back on every way out that a program can see: the end, an error,
 * a signal, being stopped (then it is taken again afterwards).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct mr_error;

struct mr_screen {
	int signals; /* descriptor; -1: not open */
	bool taken;
	struct termios saved;
};

/* Are standard input and output a terminal that can be drawn on? */
bool mr_screen_is_possible(void);
/* Take it.  On failure nothing is changed. */
int mr_screen_open(struct mr_screen *screen, struct mr_error *err);
void mr_screen_close(struct mr_screen *screen);
/* Its size; 80 columns and 24 lines where it does not say. */
void mr_screen_size(int *ret_columns, int *ret_lines);
/* Wait until at_ns (CLOCK_BOOTTIME).  Returns a key as its byte, or: */
enum {
	MR_SCREEN_TIME = -1, /* at_ns is there */
	MR_SCREEN_DRAW = -2, /* the size changed, or we go on after a stop */
	MR_SCREEN_GONE = -3, /* the terminal is gone */
	MR_SCREEN_SIGNAL = -100, /* less the number of the signal that ends us */
};
int mr_screen_wait(struct mr_screen *screen, uint64_t at_ns);
