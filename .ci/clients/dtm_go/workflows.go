package main

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/dtm-labs/client/dtmcli"
	"github.com/dtm-labs/client/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// registerWorkflows registers a transfer in three kinds: the money goes in, is refused, or the
// client dies the first time between the two steps; and one whose two steps are XA transactions.
func (b *Bank) registerWorkflows() {
	short := func(wf *workflow.Workflow) { wf.TimeoutToFail, wf.RetryInterval = 1, 1 }
	conn, err := grpc.Dial(b.target, grpc.WithUnaryInterceptor(workflow.Interceptor),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	run := func(wf *workflow.Workflow, last string) error {
		const amount = 10
		wf.NewBranch().OnRollback(func(*dtmcli.BranchBarrier) error {
			_, err := wf.NewRequest().SetBody(transfer{amount}).Post(b.url + "/OutUndo")
			return err
		})
		if _, err := wf.NewRequest().SetBody(transfer{amount}).Post(b.url + "/Out"); err != nil {
			return err
		}
		if last == "die" && b.count(wf.Gid, "die") == 1 {
			return errors.New("died")
		}
		wf.NewBranch().OnRollback(func(barrier *dtmcli.BranchBarrier) error {
			return b.act("InUndo", amount, barrier)
		})
		if last == "die" {
			last = "In"
		}
		return conn.Invoke(wf.Context, "/bank.Bank/"+last, wrapperspb.Int64(amount), new(emptypb.Empty))
	}
	for name, last := range map[string]string{"ok": "In", "refused": "Refuse", "resumed": "die"} {
		check(workflow.Register2(name, func(wf *workflow.Workflow, data []byte) ([]byte, error) {
			return append([]byte("did "), data...), run(wf, last)
		}, short))
	}
	for name, last := range map[string]string{"xa-ok": "In", "xa-refused": "Refuse"} {
		check(workflow.Register(name, func(wf *workflow.Workflow, _ []byte) error {
			for _, action := range []string{"Out", last} {
				_, err := wf.NewBranch().DoXa(b.conf, func(db *sql.DB) ([]byte, error) {
					return nil, b.xa(db, action, 10)
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, short))
	}
}

func checkWorkflows(b *Bank, c client) {
	workflow.SetProtocolForTest(c.name())
	gid := func(name string) string { return c.name() + "-wf-" + name }
	run := func(name, status string, amount int) {
		b.moved(gid(name), status, amount, func(gid string) error {
			_, err := workflow.ExecuteCtx(context.Background(), name, gid, []byte(name))
			return err
		})
	}
	run("ok", "succeed", 10)
	// Again: what it came to the first time, without doing anything.
	result, err := workflow.ExecuteCtx(context.Background(), "ok", gid("ok"), []byte("ok"))
	check(err)
	expect(string(result) == "did ok", "a workflow's result: %q", result)
	expect(b.called(gid("ok"), "Out") == 1, "a workflow that has ended is not run again")
	run("refused", "failed", 0)
	run("xa-ok", "succeed", 10)
	run("xa-refused", "failed", 0)

	before := b.balance(0)
	_, err = workflow.ExecuteCtx(context.Background(), "resumed", gid("resumed"), []byte("x"))
	expect(err != nil && err.Error() == "died", "a dying client: %v", err)
	restartServer(b.db)
	b.ended(gid("resumed"), "succeed")
	calls := strconv.Itoa(b.called(gid("resumed"), "Out")) + strconv.Itoa(b.called(gid("resumed"), "In"))
	expect(calls == "11" && b.balance(0) == before-10, "resumed: calls %s", calls)
}
