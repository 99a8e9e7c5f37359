// DTM's own Go client against the coordinator, over HTTP, gRPC and JSON-RPC: sagas, TCC, two-phase
// messages, XA and workflows between the accounts of a bank whose data and barriers live in the same
// Cohort. Each ends as it must, and the sum of all accounts is what it was.
//
//	dtm_go SQL_PORT HTTP_PORT GRPC_PORT
//
// When it prints "kill", whoever started it kills the server, starts it again and writes a line.
package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/dtm-labs/client/dtmcli"
	"github.com/dtm-labs/logger"
	"github.com/go-sql-driver/mysql"
)

const (
	accounts = 10
	balance  = 1000
)

func check(err error) {
	if err != nil {
		log.Panicf("dtm_go: %v", err)
	}
}

func expect(condition bool, what string, arguments ...any) {
	if !condition {
		log.Panicf("dtm_go: "+what, arguments...)
	}
}

var schema = []string{
	`CREATE DATABASE bank`,
	`CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL, frozen INT NOT NULL)`,
	`CREATE DATABASE IF NOT EXISTS dtm_barrier /*!40100 DEFAULT CHARACTER SET utf8mb4 */`,
	`DROP TABLE IF EXISTS dtm_barrier.barrier`,
	`CREATE TABLE IF NOT EXISTS dtm_barrier.barrier (
		id BIGINT(22) PRIMARY KEY AUTO_INCREMENT,
		trans_type VARCHAR(45) DEFAULT '', gid VARCHAR(128) DEFAULT '',
		branch_id VARCHAR(128) DEFAULT '', op VARCHAR(45) DEFAULT '',
		barrier_id VARCHAR(45) DEFAULT '', reason VARCHAR(45) DEFAULT '' COMMENT 'whose row',
		create_time DATETIME DEFAULT now(), update_time DATETIME DEFAULT now(),
		KEY (create_time), KEY (update_time), UNIQUE KEY (gid, branch_id, op, barrier_id))`,
}

func prepare(db *sql.DB) {
	for _, statement := range schema {
		_, err := db.Exec(statement)
		check(err)
	}
	for id := range accounts {
		_, err := db.Exec("INSERT INTO bank.account VALUES (?, ?, 0)", id, balance)
		check(err)
	}
}

// ended waits until a global transaction has this status.
func (b *Bank) ended(gid, wanted string) {
	var status string
	for range 200 {
		err := b.db.QueryRow("SELECT status FROM cohort.global_transactions WHERE gid = ?", gid).
			Scan(&status)
		if err == nil && status == wanted {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	log.Panicf("dtm_go: %s: %s, not %s; %s", gid, status, wanted, b.attempts(gid))
}

// attempts tells which calls a global transaction made, and why they did not succeed.
func (b *Bank) attempts(gid string) (told string) {
	const query = "SELECT COALESCE(GROUP_CONCAT(branch_id, ' ', op, ' ', result, ' ', error), '')" +
		" FROM cohort.attempts WHERE gid = ?"
	check(b.db.QueryRow(query, gid).Scan(&told))
	return told
}

// moved runs a global transaction that must end with this status, and checks what it moves from
// account 0 to account 1.
func (b *Bank) moved(gid, status string, amount int, run func(gid string) error) {
	out, in := b.balance(0), b.balance(1)
	err := run(gid)
	expect((err == nil) == (status == "succeed"), "%s: %v; %s", gid, err, b.attempts(gid))
	b.ended(gid, status)
	expect(b.balance(0) == out-amount, "%s: %d → %d", gid, out, b.balance(0))
	expect(b.balance(1) == in+amount, "%s: %d → %d", gid, in, b.balance(1))
}

func restartServer(db *sql.DB) {
	fmt.Println("kill")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	for range 100 {
		if db.Ping() == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	log.SetFlags(0)
	logger.InitLog("fatal")
	// Connections that the killed server has closed are no news.
	check(mysql.SetLogger(log.New(io.Discard, "", 0)))
	port, err := strconv.ParseInt(os.Args[1], 10, 64)
	check(err)
	db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/?parseTime=true", port))
	check(err)
	prepare(db)
	conf := dtmcli.DBConf{Driver: "mysql", Host: "127.0.0.1", Port: port, User: "root", Db: "bank"}
	bank := &Bank{db: db, conf: conf, calls: map[string]int{}}
	http, grpc := "http://127.0.0.1:"+os.Args[2]+"/api/dtmsvr", "127.0.0.1:"+os.Args[3]
	bank.serve(http, grpc)

	checkReflection(grpc)
	checkJSONRPC(bank, "http://127.0.0.1:"+os.Args[2]+"/api/json-rpc")
	for _, client := range []client{
		&overHTTP{dtm: http, bank: bank.url},
		&overGRPC{dtm: grpc, bank: bank.target},
	} {
		checkSagas(bank, client)
		checkTCC(bank, client)
		checkMessages(bank, client)
		checkXA(bank, client)
		checkWorkflows(bank, client)
	}

	var sum, frozen int
	check(db.QueryRow("SELECT SUM(balance), SUM(frozen) FROM bank.account").Scan(&sum, &frozen))
	expect(sum == accounts*balance && frozen == 0, "money came or went: %d, %d", sum, frozen)
	var prepared int
	rows, err := db.Query("XA RECOVER")
	check(err)
	for rows.Next() {
		prepared++
	}
	expect(prepared == 0, "%d XA transactions are left", prepared)
	fmt.Println("dtm_go: all ended as they must, the sum of all accounts is what it was")
}
