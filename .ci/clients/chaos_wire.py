"""The coordinator's endpoints as a client asks them, over HTTP and over gRPC.

The protocol's few messages are written and read here: a client of gRPC needs no generated code.
"""

import http.client
import json

import grpc

SUCCESS, FAILURE, ONGOING, ERROR, NOTHING = "SUCCESS", "FAILURE", "ONGOING", "ERROR", "nothing"
METHODS = {"prepare": "Prepare", "submit": "Submit", "abort": "Abort",
           "registerBranch": "RegisterBranch", "prepareWorkflow": "PrepareWorkflow"}
OPTIONS = (("wait_result", 1), ("timeout_to_fail", 2), ("retry_interval", 3),
           ("request_timeout", 6), ("retry_limit", 7))
CHANNEL = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500),
           ("grpc.min_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1))


def _number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(number, value):
    value = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(value)) + value if value else b""


def _map(number, fields):
    return b"".join(_bytes(number, _bytes(1, name) + _bytes(2, str(value)))
                    for name, value in fields.items())


def _request(fields):
    """A DtmRequest."""
    options = b"".join(_number(number << 3) + _number(int(fields[name]))
                       for name, number in OPTIONS if fields.get(name))
    text = lambda name: fields.get(name) or ""
    steps = json.dumps(fields["steps"]) if "steps" in fields else ""
    # An empty payload is one, too: the others would move up.
    payloads = b"".join(_bytes(5, body) or b"\x2a\x00" for body in fields.get("payloads", ()))
    return (_bytes(1, text("gid")) + _bytes(2, text("trans_type")) + _bytes(3, options)
            + _bytes(4, text("custom_data")) + payloads + _bytes(6, text("query_prepared"))
            + _bytes(7, steps) + _map(8, fields.get("req_extra", {}))
            + _bytes(9, text("rollback_reason")))


def _registration(fields):
    """A DtmBranchRequest."""
    fields = dict(fields)
    own = [fields.pop(name) for name in ("gid", "trans_type", "branch_id")]
    data = fields.pop("data", "")
    return (b"".join(_bytes(number, text) for number, text in enumerate(own, 1))
            + _map(5, fields) + _bytes(6, data))


def message(data):
    """The fields of a message that are texts or messages themselves."""
    fields, place = {}, 0

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = number()
        if key & 7 == 2:
            length = number()
            fields.setdefault(key >> 3, []).append(data[place:place + length])
            place += length
        else:
            number()
    return fields


class Door:
    """The two ports of a coordinator."""

    def __init__(self, name, http_port, grpc_port):
        self.name, self.port = name, http_port
        channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}", CHANNEL)
        self.methods = {name: channel.unary_unary(f"/dtmgimp.Dtm/{method}")
                        for name, method in METHODS.items()}

    def ask(self, protocol, name, fields, patience=20):
        """What it answers, and in which words."""
        if protocol == "grpc":
            return self._ask_grpc(name, fields, patience)
        status, text = self.http("POST", f"/api/dtmsvr/{name}", fields, patience)
        known = {200: SUCCESS, 409: FAILURE, 425: ONGOING, 0: NOTHING}
        return known.get(status, ERROR), text

    def http(self, method, path, fields=None, patience=20):
        """Status and text of an answer; status 0 if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        try:
            body = None if fields is None else json.dumps(fields)
            connection.request(method, path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, str(error)
        finally:
            connection.close()

    def _ask_grpc(self, name, fields, patience):
        encode = _registration if name == "registerBranch" else _request
        try:
            return SUCCESS, self.methods[name](encode(fields), timeout=patience)
        except grpc.RpcError as error:
            code, text = error.code(), error.details() or ""
            known = {grpc.StatusCode.ABORTED: FAILURE,
                     grpc.StatusCode.FAILED_PRECONDITION: ONGOING,
                     grpc.StatusCode.DEADLINE_EXCEEDED: NOTHING}
            unreached = code == grpc.StatusCode.UNAVAILABLE
            return NOTHING if unreached else known.get(code, ERROR), f"{code.name}: {text}"
