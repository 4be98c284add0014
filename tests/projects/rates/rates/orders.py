# SPDX-License-Identifier: Apache-2.0
"""Orders, a JSON object a line; what is no order is counted and left out"""

import json
import math


def read_orders(lines):
    orders, rejected = [], 0
    for line in lines:
        if not line.strip():
            continue
        order = order_of(line)
        if order is None:
            rejected += 1
        else:
            orders.append(order)
    return orders, rejected


def order_of(line):
    try:
        order = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(order, dict):
        return None
    name, amount = order.get("id"), order.get("amount")
    if not isinstance(name, str) or not 0 < len(name) <= 64:
        return None
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        return None
    if not math.isfinite(amount) or not 0 <= amount < 1e9:
        return None
    return name, float(amount)
