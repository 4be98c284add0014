# SPDX-License-Identifier: Apache-2.0
"""python3 -m rates CURRENCY TIMES <orders.jsonl: the sum of the orders, in that currency

The rate is asked for TIMES times: it may have changed in between, and the last one counts.
"""

import sys

from .client import Unusable, rate_of
from .orders import read_orders


def main():
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
    orders, rejected = read_orders(lines)
    rate, source = 1.0, "default"
    for _ in range(int(sys.argv[2])):
        try:
            rate, source = rate_of(sys.argv[1]), "service"
        except Unusable:
            continue
    total = sum(amount for _, amount in orders) * rate
    print(f"{len(orders)} orders, {rejected} rejected, {total:.2f} by the {source}")


if __name__ == "__main__":
    main()
