package main

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/dtm-labs/client/dtmcli"
	"github.com/dtm-labs/client/dtmcli/dtmimp"
	"github.com/go-resty/resty/v2"
)

// checkJSONRPC has the client speak JSON-RPC to the coordinator, and the coordinator to the bank.
func checkJSONRPC(b *Bank, dtm string) {
	at := func(action string) string { return b.url + "/jsonrpc?method=" + action }
	saga := func(last string) func(gid string) error {
		return func(gid string) error {
			saga := dtmcli.NewSaga(dtm, gid).Add(at("Out"), at("OutUndo"), transfer{10}).
				Add(at(last), at("InUndo"), transfer{10})
			saga.Protocol = dtmimp.Jrpc
			waiting(saga)
			return saga.Submit()
		}
	}
	b.moved("jsonrpc-saga-ok", "succeed", 10, saga("In"))
	b.moved("jsonrpc-saga-later", "succeed", 10, saga("Later"))
	b.moved("jsonrpc-saga-refused", "failed", 0, saga("Refuse"))
	b.moved("jsonrpc-tcc", "succeed", 10, func(gid string) error {
		custom := func(t *dtmcli.Tcc) { t.Protocol = dtmimp.Jrpc }
		return dtmcli.TccGlobalTransaction2(dtm, gid, custom, func(t *dtmcli.Tcc) (*resty.Response, error) {
			// The client itself calls the first phase, and over HTTP.
			r, err := t.CallBranch(transfer{10}, b.url+"/TryOut", at("ConfirmOut"), at("CancelOut"))
			if err != nil {
				return r, err
			}
			return t.CallBranch(transfer{10}, b.url+"/TryIn", at("ConfirmIn"), at("CancelIn"))
		})
	})
	request := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "newGid"}
	var answer struct{ Result struct{ Gid string } }
	_, err := resty.New().R().SetBody(request).SetResult(&answer).Post(dtm)
	check(err)
	expect(len(answer.Result.Gid) == 22, "a gid has 22 characters: %q", answer.Result.Gid)
}

func (b *Bank) overJSONRPC(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Method, ID string
		Params     struct {
			Amount    int64
			Gid, Op   string
			BranchID  string `json:"branch_id"`
			TransType string `json:"trans_type"`
		}
	}
	err := json.NewDecoder(r.Body).Decode(&request)
	params := request.Params
	var barrier *dtmcli.BranchBarrier
	if err == nil {
		barrier, err = dtmcli.BarrierFrom(params.TransType, params.Gid, params.BranchID, params.Op)
	}
	if err == nil {
		err = b.act(request.Method, params.Amount, barrier)
	}
	response := map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": "done"}
	if err != nil {
		code := -32603
		switch {
		case errors.Is(err, dtmcli.ErrFailure):
			code = -32901
		case errors.Is(err, dtmcli.ErrOngoing):
			code = -32902
		}
		delete(response, "result")
		response["error"] = map[string]any{"code": code, "message": err.Error()}
	}
	check(json.NewEncoder(w).Encode(response))
}
