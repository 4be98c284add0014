/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual clock, for unit tests of what waits
 *
 * While it is set all clocks but those of the processor show one time (the time of day: that many
 * nanoseconds after 2026-01-01), and it stands still but for mr_clock_advance() and for waits:
 * mr_loop_run_once() and mr_clock_poll() first take what is there, and where nothing is, the time is at
 * once that of the next timer, or the end of the wait.  Processor time passes by
 * mr_clock_advance_cpu() only.  A wait of another process or of a bare poll() is a real one.
 */
#pragma once

#include <stdint.h>

/* From now on it is ns after boot; timers that were armed before are forgotten. */
void mr_clock_set_virtual(uint64_t ns);
/* The kernel's clocks again. */
void mr_clock_set_real(void);
/* Timers that are due by then are readable when it returns. */
void mr_clock_advance(uint64_t ns);
/* Of this thread and so of this process; no other clock goes on with it. */
void mr_clock_advance_cpu(uint64_t ns);
