/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tun: a device whose other end is a program, in the way of all that goes over a loopback
 *
 * What leaves by lo is read from the descriptor, as frames of at most MR_TUN_FRAME_MAX bytes, and
 * arrives on lo when it is written back; relay.bpf.c is how.  Nothing else gets to the
 * descriptor, whatever a payload sends to or through the device.  Without a reader all
 * packets are lost.  The device goes with the last descriptor.
 *
 * Why this way.  Routes through a pair of such devices would need other addresses than the
 * loopback's, which a payload would meet in getpeername() and in what it binds to.  The copies
 * that a packet socket on lo is given have checksums that nobody has computed yet.
 * Here the payload sees one more link, without an address, and nothing else.
 */
#pragma once

#include <stdint.h>

struct mr_error;
struct mr_rtnl;

#define MR_TUN_NAME "menace-tun"
#define MR_TUN_FRAME_MAX 1514 /* where lo takes packets of at most 1500 bytes */
#define MR_TUN_WAITING 8192 /* frames that are not yet read */

/* Make it in the calling task's namespace, set up so that lo takes back what has an address of its
 * own as a source.  Descriptor (close-on-exec, non-blocking) or negative errno.  Needs CAP_NET_ADMIN
 * over the namespace, and the right to open /dev/net/tun. */
int mr_tun_open(struct mr_rtnl *rtnl, struct mr_error *err);
/* From here on all goes that way.  lo has a clsact, the device none.  Needs CAP_BPF. */
int mr_tun_attach(struct mr_rtnl *rtnl, struct mr_error *err);
/* Frames that its other end has written, whatever became of them. */
int mr_tun_passed(struct mr_rtnl *rtnl, uint64_t *ret, struct mr_error *err);
/* Frames that found no room in the device. */
int mr_tun_lost(struct mr_rtnl *rtnl, uint64_t *ret, struct mr_error *err);
