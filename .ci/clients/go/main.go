// go-sql-driver/mysql: transactions, types and errors, as a Go service uses them.
//
//	go run . PORT
package main

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

func check(err error) {
	if err != nil {
		log.Panicf("go: %v", err)
	}
}

// expect panics unless err is MySQL's error of this number.
func expect(number uint16, err error) {
	var failure *mysql.MySQLError
	if !errors.As(err, &failure) || failure.Number != number {
		log.Panicf("go: expected error %d, got %v", number, err)
	}
}

func open(port, options string) *sql.DB {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:"+port+")/gotest?parseTime=true"+options)
	check(err)
	return db
}

// types checks that values come back as they went in, as text and through the binary protocol.
func types(db *sql.DB) {
	_, err := db.Exec(`CREATE TABLE types (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED,
		d DOUBLE, n DECIMAL(10,2), s VARCHAR(50), b VARBINARY(50), at DATETIME(6), nothing INT)`)
	check(err)
	at := time.Date(2024, 2, 29, 23, 59, 58, 123456000, time.UTC)
	_, err = db.Exec("INSERT INTO types VALUES (?,?,?,?,?,?,?,?,?)",
		1, int64(-1)<<63, ^uint64(0)>>1, -1.5e-3, "12345.60", "snow ☃", []byte{0, 255}, at, nil)
	check(err)
	for _, query := range []string{
		"SELECT i, u, d, n, s, b, at, nothing FROM types WHERE id = ?",
		"SELECT i, u, d, n, s, b, at, nothing FROM types WHERE id = 1",
	} {
		var arguments []any
		if query[len(query)-1] == '?' {
			arguments = append(arguments, 1)
		}
		var (
			i       int64
			u       uint64
			d       float64
			n, s    string
			b       []byte
			moment  time.Time
			nothing sql.NullInt64
		)
		check(db.QueryRow(query, arguments...).Scan(&i, &u, &d, &n, &s, &b, &moment, &nothing))
		if i != -1<<63 || u != 1<<63-1 || d != -1.5e-3 || n != "12345.60" || s != "snow ☃" ||
			string(b) != "\x00\xff" || !moment.Equal(at) || nothing.Valid {
			log.Panicf("go: %s: %v %v %v %v %v %v %v %v", query, i, u, d, n, s, b, moment, nothing)
		}
	}
}

// transactions checks commits, rollbacks and read-only transactions.
func transactions(db *sql.DB) {
	_, err := db.Exec("CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL)")
	check(err)
	_, err = db.Exec("INSERT INTO counter VALUES (1, 0)")
	check(err)
	tx, err := db.Begin()
	check(err)
	_, err = tx.Exec("UPDATE counter SET n = 100 WHERE id = 1")
	check(err)
	check(tx.Rollback())

	const clients, rounds = 8, 25
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range rounds {
				tx, err := db.BeginTx(context.Background(),
					&sql.TxOptions{Isolation: sql.LevelReadCommitted})
				check(err)
				var n int
				check(tx.QueryRow("SELECT n FROM counter WHERE id = ? FOR UPDATE", 1).Scan(&n))
				_, err = tx.Exec("UPDATE counter SET n = ? WHERE id = ?", n+1, 1)
				check(err)
				check(tx.Commit())
			}
		})
	}
	group.Wait()
	var n int
	check(db.QueryRow("SELECT n FROM counter WHERE id = 1").Scan(&n))
	if n != clients*rounds {
		log.Panicf("go: %d updates were counted, not %d", n, clients*rounds)
	}

	tx, err = db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	check(err)
	_, err = tx.Exec("UPDATE counter SET n = 0")
	expect(1792, err)
	check(tx.Rollback())
}

// failures checks error numbers, and that a statement can be cancelled.
func failures(db *sql.DB) {
	_, err := db.Exec("INSERT INTO counter VALUES (1, 5)")
	expect(1062, err)
	_, err = db.Exec("INSERT INTO nowhere VALUES (1)")
	expect(1146, err)
	_, err = db.Exec("INSERT INTO counter VALUES (2, NULL)")
	expect(1048, err)
	_, err = db.Prepare("SELECT FROM WHERE")
	expect(1064, err)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err = db.ExecContext(ctx, "DO SLEEP(30)"); !errors.Is(err, context.DeadlineExceeded) {
		log.Panicf("go: expected a cancelled statement, got %v", err)
	}
	check(db.Ping())
}

// trust registers the settings "verified": TLS with a server whom its own authority knows.
func trust(setup *sql.DB) {
	var directory, file string
	check(setup.QueryRow("SELECT @@datadir, @@ssl_ca").Scan(&directory, &file))
	pem, err := os.ReadFile(filepath.Join(directory, file))
	check(err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		log.Panicf("go: no certificate in %s", file)
	}
	check(mysql.RegisterTLSConfig("verified", &tls.Config{RootCAs: roots, ServerName: "localhost"}))
}

// encrypted checks that a connection is, or that it is not.
func encrypted(db *sql.DB, expected bool) {
	var name, cipher string
	check(db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
	if (cipher != "") != expected {
		log.Panicf("go: the cipher is '%s'", cipher)
	}
}

// compressed checks whether the connection is, and that what is long comes back.
func compressed(db *sql.DB, wanted bool) {
	var name, on string
	check(db.QueryRow("SHOW STATUS LIKE 'Compression'").Scan(&name, &on))
	if (on == "ON") != wanted {
		log.Panicf("go: %s is %s", name, on)
	}
	long := strings.Repeat("compressed or not, ", 1_500_000)
	var text, sum string
	check(db.QueryRow("SELECT ?, SHA1(?)", long, long).Scan(&text, &sum))
	if text != long || sum != fmt.Sprintf("%x", sha1.Sum([]byte(long))) {
		log.Panicf("go: %d bytes came back as %d", len(long), len(text))
	}
}

func main() {
	port := os.Args[1]
	setup, err := sql.Open("mysql", "root@tcp(127.0.0.1:"+port+")/")
	check(err)
	_, err = setup.Exec("CREATE DATABASE gotest")
	check(err)
	trust(setup)
	for _, options := range []string{"", "&interpolateParams=true", "&tls=verified",
		"&compress=true", "&compress=true&tls=verified"} {
		db := open(port, options)
		encrypted(db, strings.Contains(options, "tls"))
		compressed(db, strings.Contains(options, "compress"))
		types(db)
		transactions(db)
		failures(db)
		_, err = db.Exec("DROP TABLE types, counter")
		check(err)
		check(db.Close())
	}
	_, err = setup.Exec("DROP DATABASE gotest")
	check(err)
	fmt.Println("go: types, transactions and failures passed, prepared, as text, over TLS and compressed")
}
