package main

import (
	"context"
	"database/sql"

	"github.com/dtm-labs/client/dtmcli"
	"github.com/dtm-labs/client/dtmcli/dtmimp"
	"github.com/dtm-labs/client/dtmgrpc"
	"github.com/dtm-labs/client/dtmgrpc/dtmgimp"
	"github.com/dtm-labs/client/dtmgrpc/dtmgpb"
	"github.com/go-resty/resty/v2"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A step of a saga: an action of the bank and its compensation.
type step struct{ action, compensation string }

// How a message's client fares between its two phases.
type fate int

const (
	submits fate = iota
	refuses
	diesAfterCommit
	diesBeforeCommit
)

// client is DTM's, over one protocol.
type client interface {
	name() string
	newGid() string
	saga(gid string, custom func(*dtmcli.Saga), amount int64, steps ...step) error
	// Each branch by the end of its actions' names; the last try may be another action.
	tcc(gid string, amount int64, lastTry string) error
	message(gid string, db *sql.DB, amount int64, fate fate) error
	publish(gid, topic string, amount int64) error
	subscribe(topic, action string) error
	xa(gid string, amount int64, calls ...string) error
}

type overHTTP struct{ dtm, bank string }

func (c *overHTTP) name() string            { return "http" }
func (c *overHTTP) newGid() string          { return dtmcli.MustGenGid(c.dtm) }
func (c *overHTTP) at(action string) string { return c.bank + "/" + action }

func (c *overHTTP) saga(gid string, custom func(*dtmcli.Saga), amount int64, steps ...step) error {
	saga := dtmcli.NewSaga(c.dtm, gid)
	for _, step := range steps {
		saga.Add(c.at(step.action), c.at(step.compensation), transfer{amount})
	}
	custom(saga)
	return saga.Submit()
}

func (c *overHTTP) tcc(gid string, amount int64, lastTry string) error {
	custom := func(t *dtmcli.Tcc) { t.RetryInterval = 1 }
	return dtmcli.TccGlobalTransaction2(c.dtm, gid, custom, func(t *dtmcli.Tcc) (*resty.Response, error) {
		r, err := t.CallBranch(transfer{amount}, c.at("TryOut"), c.at("ConfirmOut"), c.at("CancelOut"))
		if err != nil {
			return r, err
		}
		return t.CallBranch(transfer{amount}, c.at(lastTry), c.at("ConfirmIn"), c.at("CancelIn"))
	})
}

func (c *overHTTP) message(gid string, db *sql.DB, amount int64, fate fate) error {
	message := dtmcli.NewMsg(c.dtm, gid).Add(c.at("In"), transfer{amount})
	message.RetryInterval, message.TimeoutToFail = 1, 1
	if fate == diesAfterCommit || fate == diesBeforeCommit {
		check(message.Prepare(c.at("Query")))
		return lonely(gid, db, amount, fate)
	}
	return message.DoAndSubmitDB(c.at("Query"), db, business(amount, fate))
}

func (c *overHTTP) publish(gid, topic string, amount int64) error {
	return dtmcli.NewMsg(c.dtm, gid).AddTopic(topic, transfer{amount}).Submit()
}

func (c *overHTTP) subscribe(topic, action string) error {
	query := map[string]string{"topic": topic, "url": c.at(action)}
	response, err := resty.New().R().SetQueryParams(query).Get(c.dtm + "/subscribe")
	if err == nil {
		err = dtmcli.HTTPResp2DtmError(response)
	}
	return err
}

func (c *overHTTP) xa(gid string, amount int64, calls ...string) error {
	return dtmcli.XaGlobalTransaction(c.dtm, gid, func(xa *dtmcli.Xa) (*resty.Response, error) {
		for _, call := range calls {
			r, err := xa.CallBranch(transfer{amount}, c.at(call))
			if err == nil {
				err = dtmcli.HTTPResp2DtmError(r)
			}
			if err != nil {
				return r, err
			}
		}
		return nil, nil
	})
}

type overGRPC struct{ dtm, bank string }

func (c *overGRPC) name() string            { return "grpc" }
func (c *overGRPC) newGid() string          { return dtmgrpc.MustGenGid(c.dtm) }
func (c *overGRPC) at(action string) string { return c.bank + "/bank.Bank/" + action }

func (c *overGRPC) saga(gid string, custom func(*dtmcli.Saga), amount int64, steps ...step) error {
	saga := dtmgrpc.NewSagaGrpc(c.dtm, gid)
	for _, step := range steps {
		saga.Add(c.at(step.action), c.at(step.compensation), wrapperspb.Int64(amount))
	}
	custom(&saga.Saga)
	return saga.Submit()
}

func (c *overGRPC) tcc(gid string, amount int64, lastTry string) error {
	custom := func(t *dtmgrpc.TccGrpc) { t.RetryInterval = 1 }
	return dtmgrpc.TccGlobalTransaction2(c.dtm, gid, custom, func(t *dtmgrpc.TccGrpc) error {
		reply, message := new(emptypb.Empty), wrapperspb.Int64(amount)
		err := t.CallBranch(message, c.at("TryOut"), c.at("ConfirmOut"), c.at("CancelOut"), reply)
		if err == nil {
			err = t.CallBranch(message, c.at(lastTry), c.at("ConfirmIn"), c.at("CancelIn"), reply)
		}
		return err
	})
}

func (c *overGRPC) message(gid string, db *sql.DB, amount int64, fate fate) error {
	message := dtmgrpc.NewMsgGrpc(c.dtm, gid).Add(c.at("In"), wrapperspb.Int64(amount))
	message.RetryInterval, message.TimeoutToFail = 1, 1
	if fate == diesAfterCommit || fate == diesBeforeCommit {
		check(message.Prepare(c.at("Query")))
		return lonely(gid, db, amount, fate)
	}
	return message.DoAndSubmitDB(c.at("Query"), db, business(amount, fate))
}

func (c *overGRPC) publish(gid, topic string, amount int64) error {
	message := dtmgrpc.NewMsgGrpc(c.dtm, gid)
	return message.AddTopic(topic, wrapperspb.Int64(amount)).Submit()
}

func (c *overGRPC) subscribe(topic, action string) error {
	_, err := dtmgimp.MustGetDtmClient(c.dtm).Subscribe(context.Background(),
		&dtmgpb.DtmTopicRequest{Topic: topic, URL: c.at(action)})
	return err
}

func (c *overGRPC) xa(gid string, amount int64, calls ...string) error {
	return dtmgrpc.XaGlobalTransaction(c.dtm, gid, func(xa *dtmgrpc.XaGrpc) error {
		for _, call := range calls {
			err := xa.CallBranch(wrapperspb.Int64(amount), c.at(call), new(emptypb.Empty))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// business is what a message's client does between the two phases.
func business(amount int64, fate fate) dtmcli.BarrierBusiFunc {
	return func(tx *sql.Tx) error {
		if fate == refuses {
			return dtmcli.ErrFailure
		}
		return change(tx, "Out", amount)
	}
}

// lonely is a client that dies before it can submit.
func lonely(gid string, db *sql.DB, amount int64, fate fate) error {
	if fate == diesBeforeCommit {
		return dtmcli.ErrFailure
	}
	barrier, err := dtmcli.BarrierFrom("msg", gid, dtmimp.MsgDoBranch0, dtmimp.MsgDoOp)
	if err == nil {
		err = barrier.CallWithDB(db, business(amount, fate))
	}
	return err
}
