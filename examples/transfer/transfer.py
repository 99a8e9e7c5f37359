#!/usr/bin/env python3
"""Moves money between two banks as one saga, and waits for its end: 0 if it succeeds, 1 if not.

  transfer.py COORDINATOR BANK_FROM BANK_TO GID FROM TO AMOUNT

The GID names the transfer: to submit it again after an error moves nothing twice.
"""

import json
import sys
import time
import urllib.error
import urllib.request

COORDINATOR, BANK_FROM, BANK_TO, GID, FROM, TO, AMOUNT = sys.argv[1:]

SAGA = {
    "gid": GID, "trans_type": "saga", "retry_interval": 1,  # Seconds.
    "steps": [
        {"action": f"{BANK_FROM}/withdraw", "compensate": f"{BANK_FROM}/withdraw-undo"},
        {"action": f"{BANK_TO}/deposit", "compensate": f"{BANK_TO}/deposit-undo"},
    ],
    "payloads": [
        json.dumps({"owner": FROM, "amount": int(AMOUNT)}),
        json.dumps({"owner": TO, "amount": int(AMOUNT)}),
    ],
}


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{COORDINATOR}/api/dtmsvr/{path}", data, headers)
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)


call("submit", SAGA)
while True:
    transaction = call(f"query?gid={GID}")["transaction"]
    if transaction["status"] in ("succeed", "failed"):
        break
    time.sleep(0.05)
print(" ".join([transaction["status"], transaction.get("rollback_reason", "")]).strip())
sys.exit(transaction["status"] != "succeed")
