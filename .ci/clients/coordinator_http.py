#!/usr/bin/env python3
"""The coordinator's HTTP, line by line as DTM's protocol has it: statuses, fields, and the texts that
SDKs look for.
"""

import http.server
import json
import threading
import time

import requests

from cohort import Cohort, free_port


class Branch(http.server.BaseHTTPRequestHandler):
    """`/200/text` answers 200 with this text; what it was sent is kept."""

    protocol_version = "HTTP/1.1"
    seen = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        Branch.seen.append((self.command, self.path, body, dict(self.headers)))
        status, _, text = self.path.partition("?")[0].strip("/").partition("/")
        self.send_response(int(status))
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST


class Dtm:
    """Calls the coordinator and compares the answer's status and text."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path, wanted=200, text="", **params):
        return self.compare(requests.get(f"{self.base}/api/dtmsvr/{path}", params=params),
                            wanted, text)

    def post(self, path, body, status=200, text=""):
        data = body if isinstance(body, str) else json.dumps(body)
        return self.compare(requests.post(f"{self.base}/api/dtmsvr/{path}", data=data), status, text)

    def rpc(self, body):
        data = body if isinstance(body, str) else json.dumps(body)
        answer = requests.post(f"{self.base}/api/json-rpc", data=data)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @staticmethod
    def compare(answer, status, text):
        assert answer.status_code == status, f"{answer.status_code}, not {status}: {answer.text}"
        assert text in answer.text, f"not {text!r}: {answer.text}"
        result = {200: "SUCCESS", 409: "FAILURE", 425: "ONGOING"}.get(status)
        found = answer.json()
        if "dtm_result" in found or status != 200:
            assert found.get("dtm_result") == result, answer.text
        return found

    def until(self, gid, status):
        for _ in range(200):
            found = self.get("query", gid=gid)["transaction"]
            if found and found["status"] == status:
                return found
            time.sleep(0.02)
        raise AssertionError(f"{gid}: {found}")


def check_globals(dtm, branch):
    """What begins, ends and changes global transactions."""
    assert dtm.get("version")["version"]
    gid = dtm.get("newGid", text="SUCCESS")["gid"]
    assert len(gid) == 22
    steps = [{"action": branch + "/200/one?x=1", "compensate": branch + "/200/undone"},
             {"action": branch + "/409/no;way", "compensate": ""}]
    # Nulls, unknown fields and names that come twice are what some SDKs send.
    saga = json.dumps({
        "gid": gid, "trans_type": "saga", "steps": steps, "payloads": ['{"a":1}', ""],
        "wait_result": True, "custom_data": None, "protocol": None, "query_prepared": None,
        "branch_headers": {"x-token": "t"}, "passthrough_headers": [], "retry_limit": None,
    })[:-1] + ', "unknown": {}, "unknown": 1}'
    for other in (gid + ";", gid + "\n"):
        dtm.post("submit", {"gid": other, "trans_type": "saga"}, 400)
    dtm.post("submit", saga, 409, f"url:{branch}/409/no;way return failed: no;way FAILURE")
    method, path, body, headers = Branch.seen[0]
    assert (method, body) == ("POST", '{"a":1}') and headers["x-token"] == "t"
    assert path == f"/200/one?x=1&branch_id=01&gid={gid}&op=action&trans_type=saga", path
    assert headers["content-type"] == "application/json"
    assert Branch.seen[1][0] == "GET", "without a payload it is a GET"

    found = dtm.get("query", gid=gid)
    transaction, branches = found["transaction"], found["branches"]
    for name in ("id", "create_time", "update_time", "concurrent", "steps", "rollback_time"):
        assert name in transaction, name
    assert transaction["rollback_reason"].startswith("url:") and transaction["status"] == "failed"
    assert "query_prepared" not in transaction and "finish_time" not in transaction
    statuses = [(b["branch_id"], b["op"], b["status"]) for b in branches]
    assert statuses == [("01", "compensate", "succeed"), ("01", "action", "succeed"),
                        ("02", "compensate", "succeed"), ("02", "action", "failed")], statuses
    assert branches[0]["bin_data"] == "eyJhIjoxfQ=="
    dtm.post("submit", saga, 409, "current status 'failed', cannot sumbmit. FAILURE")
    dtm.post("prepare", saga, 409, "current status 'failed', cannot prepare. FAILURE")
    dtm.post("forceStop", {"gid": gid}, 409,
             "global transaction force stop error. status: failed. error: FAILURE")

    dtm.post("submit", "{", 400)
    dtm.post("submit", "[1]", 400)
    dtm.post("submit", {"trans_type": "saga"}, 400)
    dtm.post("submit", {"gid": "g" * 129, "trans_type": "saga"}, 400)
    dtm.post("submit", {"gid": "zz", "trans_type": "zz"}, 500, "unknow trans type: zz")
    for path in ("abort", "forceStop", "resetNextCronTime"):
        dtm.post(path, {"gid": "nobody", "trans_type": "tcc"}, 500,
                 "no TransGlobal with gid: nobody found")


def check_tcc(dtm, branch):
    tcc = {"gid": "tcc", "trans_type": "tcc"}
    added = {**tcc, "branch_id": "01", "data": "d", "try": "unused",
             "confirm": branch + "/200/c", "cancel": branch + "/200/x"}
    dtm.post("registerBranch", added, 409, "no trans with gid: tcc status: prepared found FAILURE")
    dtm.post("prepare", tcc, text='"dtm_result":"SUCCESS"')
    dtm.post("prepare", tcc)
    dtm.post("registerTccBranch", added)
    dtm.post("registerBranch", added, 500, "storage: UniqueKeyConflict")
    ops = [b["op"] for b in dtm.get("query", gid="tcc")["branches"]]
    assert ops == ["cancel", "confirm"], ops
    dtm.post("submit", {**tcc, "wait_result": True})
    dtm.post("abort", tcc, 409, "trans type: 'tcc' current status 'succeed', cannot abort. FAILURE")
    stuck = {"gid": "stuck", "trans_type": "xa"}
    dtm.post("prepare", stuck)
    dtm.post("registerXaBranch", {**stuck, "branch_id": "01", "url": branch + "/500/later"})
    dtm.post("submit", {**stuck, "wait_result": True}, 425, "ONGOING")
    Branch.seen.clear()
    dtm.post("submit", stuck)
    time.sleep(0.3)
    assert not Branch.seen, "whoever asks again does not do away with the pause between calls"
    dtm.post("resetNextCronTime", {"gid": "stuck"})
    until = time.monotonic() + 5
    while not Branch.seen:
        assert time.monotonic() < until, "it is not retried at once"
        time.sleep(0.01)
    assert Branch.seen[0][0] == "POST", "XA branches are always sent a POST"
    time.sleep(0.1)
    moved = dtm.get("resetCronTime", timeout=0, limit=1)
    assert moved == {"has_remaining": False, "succeed_count": 1}, moved
    dtm.post("forceStop", {"gid": "stuck"})
    dtm.until("stuck", "failed")
    assert dtm.get("resetCronTime", timeout=0)["succeed_count"] == 0


def check_workflow(dtm):
    workflow = {"gid": "wf", "trans_type": "workflow", "query_prepared": "http://127.0.0.1:1/"}
    assert dtm.post("prepareWorkflow", workflow)["progresses"] == []
    dtm.post("registerBranch", {"gid": "wf", "trans_type": "workflow", "branch_id": "01",
                                "op": "action", "status": "succeed", "data": "r"})
    found = dtm.post("prepareWorkflow", workflow)
    assert found["transaction"]["status"] == "prepared"
    assert [(p["op"], p["status"], p["bin_data"]) for p in found["progresses"]] == [
        ("action", "succeed", "cg==")]
    end = {"status": "succeed", "result": "cmVzdWx0", "rollback_reason": ""}
    dtm.post("submit", {**workflow, "req_extra": end})
    assert dtm.get("query", gid="wf")["transaction"]["result"] == "cmVzdWx0"


def check_lists(dtm):
    dtm.get("query", 500)
    assert dtm.get("query", gid="nobody") == {"transaction": None, "branches": []}
    everything = dtm.get("all")
    assert everything["next_position"] == "" and len(everything["transactions"]) == 4
    ids, position = [], ""
    while True:
        page = dtm.get("all", limit=3, position=position)
        ids += [transaction["id"] for transaction in page["transactions"]]
        position = page["next_position"]
        if not position:
            break
    assert ids == [transaction["id"] for transaction in everything["transactions"]]
    assert all(isinstance(id, int) and id < 1 << 31 for id in ids)
    count = lambda **params: len(dtm.get("all", **params)["transactions"])
    assert count(transType="tcc") == 1 and count(status="failed") == 2 and count(gid="wf") == 1
    now = int(time.time() * 1000)
    assert count(createTimeStart=now - 60000, createTimeEnd=now + 60000) == 4
    assert count(createTimeStart=now + 60000) == 0
    dtm.get("all", 400, limit="many")


def check_topics(dtm, branch):
    dtm.get("subscribe", 500, "empty topic", url="http://a/")
    dtm.get("subscribe", 500, "empty url", topic="t")
    dtm.get("subscribe", topic="t", url=branch + "/200/a", remark="first")
    dtm.get("subscribe", 500, "this url exists", topic="t", url=branch + "/200/a")
    dtm.get("subscribe", topic="t", url=branch + "/200/b")
    dtm.get("subscribe", topic="u", url=branch + "/200/b")
    dtm.get("unsubscribe", 500, "no such a topic", topic="x", url="http://a/")
    dtm.get("unsubscribe", 500, "no such an url ", topic="t", url="http://a/")
    kv = dtm.get("queryKV", cat="topics", key="t")["kv"]
    assert [entry["k"] for entry in kv] == ["t"] and kv[0]["cat"] == "topics"
    assert json.loads(kv[0]["v"])[0] == {"url": branch + "/200/a", "remark": "first"}
    assert dtm.get("queryKV", cat="topics", key="x") == {"kv": []}
    page = dtm.get("scanKV", cat="topics", limit=1)
    assert [entry["k"] for entry in page["kv"]] == ["t"]
    page = dtm.get("scanKV", cat="topics", limit=10, position=page["next_position"])
    assert [entry["k"] for entry in page["kv"]] == ["u"] and page["next_position"] == ""
    message = {"gid": "msg", "trans_type": "msg", "steps": [{"action": "topic://t"}],
               "payloads": ["m"], "wait_result": True}
    dtm.post("submit", message)
    ids = [b["branch_id"] for b in dtm.get("query", gid="msg")["branches"]]
    assert ids == ["01-01", "01-02"], ids
    for status, text in ((200, "SUCCESS"), (500, "storage: NotFound")):
        answer = requests.delete(dtm.base + "/api/dtmsvr/topic/t")
        assert answer.status_code == status and text in answer.text, answer.text
    dtm.post("submit", {**message, "gid": "msg2"}, 500, "topic not found")


def check_rpc(dtm, branch):
    code = lambda body: dtm.rpc(body)["error"]["code"]
    call = lambda method, params=None: {"jsonrpc": "2.0", "id": "i", "method": method,
                                        "params": params}
    assert code("{") == -32700 and code("[]") == -32600
    assert code({"jsonrpc": "2.0", "id": 1, "method": "newGid"}) == -32600
    assert code({"jsonrpc": "2.0", "id": "", "method": "newGid"}) == -32600
    assert code(call("nothing")) == -32601
    assert code(call("submit", {"gid": "x", "trans_type": "zz"})) == -32603
    saga = {"gid": "rpc", "trans_type": "saga", "wait_result": True, "protocol": "json-rpc",
            "steps": [{"action": branch + "/409/no?method=m", "compensate": ""}]}
    assert code(call("submit", saga)) == -32901
    sent = json.loads(Branch.seen[-1][2])
    assert sent["method"] == "m" and sent["params"] == {
        "gid": "rpc", "trans_type": "saga", "branch_id": "01", "op": "action"}, sent
    assert code(call("submit", "")) == -32602
    assert dtm.rpc(call("newGid", ""))["result"]["gid"]
    answer = dtm.rpc(call("newGid"))
    assert answer["id"] == "i" and len(answer["result"]["gid"]) == 22


def check_pages(dtm, branch):
    """A page in a browser of this machine gets nothing, and changes nothing."""
    body = json.dumps({"gid": "page", "trans_type": "saga",
                       "steps": [{"action": branch + "/200/page", "compensate": ""}]})
    own = dtm.base
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"},
                    {"host": "evil.example"}, {"sec-fetch-site": "cross-site"},
                    {"sec-fetch-site": "same-site"}, {"content-type": "text/plain"}):
        for path in ("dtmsvr/submit", "cohort/force", "json-rpc"):
            answer = requests.post(f"{own}/api/{path}", data=body, headers=headers)
            assert answer.status_code == 403 and answer.json()["message"], (headers, answer.text)
        if "content-type" not in headers:
            assert requests.get(f"{own}/api/dtmsvr/all", headers=headers).status_code == 403
    assert dtm.get("query", gid="page")["transaction"] is None
    answer = requests.post(f"{own}/api/dtmsvr/submit", data=body,
                           headers={"origin": own, "content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    dtm.until("page", "succeed")


def main():
    port = free_port()
    with Cohort("--coordinator", "on", "--coordinator-port", str(port)):
        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Branch)
        service.daemon_threads = True
        threading.Thread(target=service.serve_forever, daemon=True).start()
        branch = f"http://127.0.0.1:{service.server_port}"
        dtm = Dtm(port)
        while True:
            try:
                requests.get(dtm.base + "/api/ping")
                break
            except requests.ConnectionError:
                time.sleep(0.02)
        assert requests.get(dtm.base + "/api/ping").json() == {"msg": "pong"}
        assert requests.get(dtm.base + "/api/nothing").status_code == 404
        check_globals(dtm, branch)
        check_tcc(dtm, branch)
        check_workflow(dtm)
        check_lists(dtm)
        check_topics(dtm, branch)
        check_rpc(dtm, branch)
        check_pages(dtm, branch)
    print("coordinator_http: every line of the protocol")


if __name__ == "__main__":
    main()
