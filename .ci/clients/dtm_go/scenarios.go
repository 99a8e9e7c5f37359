package main

import (
	"strings"

	"github.com/dtm-labs/client/dtmcli"
)

var (
	out      = step{"Out", "OutUndo"}
	in       = step{"In", "InUndo"}
	refusing = step{"Refuse", "InUndo"}
)

func waiting(saga *dtmcli.Saga) { saga.WaitResult, saga.RetryInterval = true, 1 }

func checkSagas(b *Bank, c client) {
	expect(len(c.newGid()) == 22, "a gid has 22 characters")
	gid := func(name string) string { return c.name() + "-saga-" + name }
	b.moved(gid("ok"), "succeed", 10, func(gid string) error {
		return c.saga(gid, waiting, 10, out, in)
	})
	b.moved(gid("refused"), "failed", 0, func(gid string) error {
		return c.saga(gid, waiting, 10, out, refusing)
	})
	expect(b.called(gid("refused"), "OutUndo") == 1, "the first step is undone once")
	b.moved(gid("concurrent"), "succeed", 10, func(gid string) error {
		return c.saga(gid, func(saga *dtmcli.Saga) {
			waiting(saga)
			saga.SetConcurrent().AddBranchOrder(1, []int{0})
		}, 10, out, in)
	})
	b.moved(gid("later"), "succeed", 10, func(gid string) error {
		return c.saga(gid, waiting, 10, out, step{"Later", "InUndo"})
	})
	b.moved(gid("broken"), "succeed", 10, func(gid string) error {
		return c.saga(gid, func(saga *dtmcli.Saga) {
			waiting(saga)
			saga.BranchHeaders = map[string]string{"x-check": "yes"}
		}, 10, out, step{"Broken", "InUndo"})
	})
	// Whoever asks again for the end is told it; a submit as such comes too late.
	check(c.saga(gid("ok"), waiting, 10, out, in))
	err := c.saga(gid("ok"), func(*dtmcli.Saga) {}, 10, out, in)
	expect(err != nil && strings.Contains(err.Error(),
		"current status 'succeed', cannot sumbmit. FAILURE"), "submitted twice: %v", err)
}

func checkTCC(b *Bank, c client) {
	gid := func(name string) string { return c.name() + "-tcc-" + name }
	b.moved(gid("ok"), "succeed", 10, func(gid string) error { return c.tcc(gid, 10, "TryIn") })
	b.moved(gid("refused"), "failed", 0, func(gid string) error {
		return c.tcc(gid, 10, "Refuse")
	})
	expect(b.called(gid("refused"), "CancelOut") == 1, "what was tried is cancelled once")
}

func checkMessages(b *Bank, c client) {
	run := func(name, status string, amount int, fate fate) {
		b.moved(c.name()+"-msg-"+name, status, amount, func(gid string) error {
			return c.message(gid, b.db, 10, fate)
		})
	}
	run("ok", "succeed", 10, submits)
	run("refused", "failed", 0, refuses)
	run("commit-and-death", "succeed", 10, diesAfterCommit)
	run("death", "failed", 0, diesBeforeCommit)

	topic := c.name() + "-topic"
	err := c.publish(c.name()+"-msg-nowhere", topic, 10)
	expect(err != nil && strings.Contains(err.Error(), "topic not found"), "nobody: %v", err)
	check(c.subscribe(topic, "Out"))
	check(c.subscribe(topic, "In"))
	err = c.subscribe(topic, "In")
	expect(err != nil && strings.Contains(err.Error(), "this url exists"), "again: %v", err)
	b.moved(c.name()+"-msg-topic", "succeed", 10, func(gid string) error {
		return c.publish(gid, topic, 10)
	})
}

func checkXA(b *Bank, c client) {
	gid := func(name string) string { return c.name() + "-xa-" + name }
	b.moved(gid("ok"), "succeed", 10, func(gid string) error {
		return c.xa(gid, 10, "XaOut", "XaIn")
	})
	b.moved(gid("refused"), "failed", 0, func(gid string) error {
		return c.xa(gid, 10, "XaOut", "XaRefuse")
	})
	b.moved(gid("one-branch"), "failed", 0, func(gid string) error {
		return c.xa(gid, 10, "XaRefuse")
	})
}
