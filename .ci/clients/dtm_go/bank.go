package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/dtm-labs/client/dtmcli"
	"github.com/dtm-labs/client/dtmgrpc"
	"github.com/dtm-labs/client/dtmgrpc/dtmgimp"
	"github.com/dtm-labs/client/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Bank is the participant: the same actions over HTTP and over gRPC.
type Bank struct {
	db   *sql.DB
	conf dtmcli.DBConf
	// Where it listens, for HTTP and for gRPC.
	url, target string

	mutex sync.Mutex
	// How often each action of each global transaction was called.
	calls map[string]int
}

// transfer is what HTTP's bodies say.
type transfer struct{ Amount int64 }

// Each action changes an account under the barrier: how, and whose.
var actions = map[string]struct {
	statement string
	account   int
}{
	"Out":        {"UPDATE bank.account SET balance = balance - ? WHERE id = ?", 0},
	"OutUndo":    {"UPDATE bank.account SET balance = balance + ? WHERE id = ?", 0},
	"In":         {"UPDATE bank.account SET balance = balance + ? WHERE id = ?", 1},
	"InUndo":     {"UPDATE bank.account SET balance = balance - ? WHERE id = ?", 1},
	"TryOut":     {"UPDATE bank.account SET frozen = frozen - ? WHERE id = ?", 0},
	"ConfirmOut": {"UPDATE bank.account SET frozen = frozen + ?1, balance = balance - ?1 WHERE id = ?", 0},
	"CancelOut":  {"UPDATE bank.account SET frozen = frozen + ? WHERE id = ?", 0},
	"TryIn":      {"UPDATE bank.account SET frozen = frozen + ? WHERE id = ?", 1},
	"ConfirmIn":  {"UPDATE bank.account SET frozen = frozen - ?1, balance = balance + ?1 WHERE id = ?", 1},
	"CancelIn":   {"UPDATE bank.account SET frozen = frozen - ? WHERE id = ?", 1},
}

func change(db dtmcli.DB, name string, amount int64) error {
	action := actions[name]
	statement := strings.ReplaceAll(action.statement, "?1", "?")
	arguments := []any{amount, action.account}
	if statement != action.statement {
		arguments = []any{amount, amount, action.account}
	}
	_, err := db.Exec(statement, arguments...)
	return err
}

func (b *Bank) balance(id int) (amount int) {
	check(b.db.QueryRow("SELECT balance FROM bank.account WHERE id = ?", id).Scan(&amount))
	return amount
}

// count notes a call; it returns how many there have been of its kind.
func (b *Bank) count(gid, name string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.calls[gid+" "+name]++
	return b.calls[gid+" "+name]
}

func (b *Bank) called(gid, name string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.calls[gid+" "+name]
}

// act does what both protocols ask for.
func (b *Bank) act(name string, amount int64, barrier *dtmcli.BranchBarrier) error {
	calls := b.count(barrier.Gid, name)
	switch name {
	case "Refuse":
		return dtmcli.ErrFailure
	case "Later":
		if calls == 1 {
			return dtmcli.ErrOngoing
		}
		name = "In"
	case "Broken":
		if calls == 1 {
			return errors.New("broken")
		}
		name = "In"
	case "Query":
		return barrier.QueryPrepared(b.db)
	}
	return barrier.CallWithDB(b.db, func(tx *sql.Tx) error { return change(tx, name, amount) })
}

func (b *Bank) serve(httpDtm, grpcDtm string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	b.url = "http://" + listener.Addr().String()
	server := http.NewServeMux()
	server.HandleFunc("/", b.overHTTP)
	server.HandleFunc("/jsonrpc", b.overJSONRPC)
	server.HandleFunc("/workflow", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = workflow.ExecuteByQS(r.URL.Query(), body)
		}
		answer(w, err)
	})
	go func() { check(http.Serve(listener, server)) }()

	grpcListener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	b.target = grpcListener.Addr().String()
	grpcServer := grpc.NewServer()
	grpcServer.RegisterService(b.describe(), b)
	workflow.InitGrpc(grpcDtm, b.target, grpcServer)
	workflow.InitHTTP(httpDtm, b.url+"/workflow")
	b.registerWorkflows()
	go func() { check(grpcServer.Serve(grpcListener)) }()
}

func answer(w http.ResponseWriter, err error) {
	status, body := dtmcli.Result2HttpJSON(err)
	if err == nil {
		body = dtmcli.MapSuccess
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	check(json.NewEncoder(w).Encode(body))
}

func (b *Bank) overHTTP(w http.ResponseWriter, r *http.Request) {
	name, query := strings.TrimPrefix(r.URL.Path, "/"), r.URL.Query()
	var body transfer
	if r.Method == http.MethodPost && query.Get("trans_type") != "xa" || query.Get("op") == "action" {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			answer(w, err)
			return
		}
	}
	if action, ok := strings.CutPrefix(name, "Xa"); ok {
		answer(w, dtmcli.XaLocalTransaction(query, b.conf, func(db *sql.DB, _ *dtmcli.Xa) error {
			return b.xa(db, action, body.Amount)
		}))
		return
	}
	barrier, err := dtmcli.BarrierFromQuery(query)
	if err == nil {
		err = b.act(name, body.Amount, barrier)
	}
	answer(w, err)
}

func (b *Bank) xa(db *sql.DB, action string, amount int64) error {
	if action == "Refuse" {
		return dtmcli.ErrFailure
	}
	return change(db, action, amount)
}

// describe makes a gRPC service without generated code: each method takes an amount.
func (b *Bank) describe() *grpc.ServiceDesc {
	names := []string{"Refuse", "Later", "Broken", "Query", "XaOut", "XaIn", "XaRefuse"}
	for name := range actions {
		names = append(names, name)
	}
	service := &grpc.ServiceDesc{ServiceName: "bank.Bank", HandlerType: (*any)(nil)}
	for _, name := range names {
		service.Methods = append(service.Methods, grpc.MethodDesc{
			MethodName: name,
			Handler: func(_ any, ctx context.Context, decode func(any) error,
				_ grpc.UnaryServerInterceptor) (any, error) {
				amount := new(wrapperspb.Int64Value)
				if err := decode(amount); err != nil {
					return nil, err
				}
				err := b.overGRPC(ctx, name, amount.Value)
				return new(emptypb.Empty), dtmgrpc.DtmError2GrpcError(err)
			},
		})
	}
	return service
}

func (b *Bank) overGRPC(ctx context.Context, name string, amount int64) error {
	if action, ok := strings.CutPrefix(name, "Xa"); ok {
		return dtmgrpc.XaLocalTransaction(ctx, b.conf, func(db *sql.DB, _ *dtmgrpc.XaGrpc) error {
			return b.xa(db, action, amount)
		})
	}
	barrier, err := dtmgrpc.BarrierFromGrpc(ctx)
	if err != nil {
		return err
	}
	if header := dtmgimp.GetMetaFromContext(ctx, "x-check"); name == "Broken" && header != "yes" {
		return errors.New("branch headers are missing")
	}
	return b.act(name, amount, barrier)
}
