# SPDX-License-Identifier: Apache-2.0
"""Run a command beside a mount that never answers: never-answers.py FOLDER SECONDS COMMAND...

A file system in user space whose server does not read its requests, in a mount namespace of ours.
Exit status: the command's, 124 when it did not end in time, 77 where there is no such file system.
"""

import ctypes
import os
import subprocess
import sys

CLONE_NEWNS = 0x20000
MS_REC_PRIVATE = (1 << 14) | (1 << 18)

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        print(f"{what}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        sys.exit(77)


def main():
    folder, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    check(libc.unshare(CLONE_NEWNS), "a mount namespace")
    check(libc.mount(None, b"/", None, MS_REC_PRIVATE, None), "make mounts private")
    try:
        server = os.open("/dev/fuse", os.O_RDWR)
    except OSError as e:
        print(e, file=sys.stderr)
        sys.exit(77)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    check(libc.mount(b"nobody", folder.encode(), b"fuse", 0, options.encode()), "mount fuse")
    try:
        status = subprocess.run(command, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        status = 124
    os.close(server)  # whoever waits goes on
    sys.exit(status)


main()
