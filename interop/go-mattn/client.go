// A client with mattn/go-sqlite3. ../README.md says what it must do.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Once loaded on any connection, the extension stays for the whole process.
func loadExtension() error {
	extension := os.Getenv("STRONGROOM_EXTENSION")
	sql.Register("loader", &sqlite3.SQLiteDriver{Extensions: []string{extension}})
	loader, err := sql.Open("loader", ":memory:")
	if err != nil {
		return err
	}
	defer loader.Close()
	return loader.Ping()
}

func open(file, keyFile string) (*sql.DB, error) {
	query := url.Values{"vfs": {"strongroom"}}
	if keyFile != "" {
		query.Set("key_file", keyFile)
	}
	uri := url.URL{Scheme: "file", Path: file, RawQuery: query.Encode()}
	return sql.Open("sqlite3", uri.String())
}

func fromText(kind, value string) (any, error) {
	switch kind {
	case "null":
		return nil, nil
	case "integer":
		return strconv.ParseInt(value, 10, 64)
	case "real":
		return strconv.ParseFloat(value, 64)
	case "text":
		return value, nil
	default:
		return hex.DecodeString(value)
	}
}

func write(database *sql.DB) error {
	schema, err := os.ReadFile(os.Getenv("STRONGROOM_SCHEMA"))
	if err != nil {
		return err
	}
	if _, err := database.Exec(string(schema)); err != nil {
		return err
	}
	transaction, err := database.Begin()
	if err != nil {
		return err
	}
	defer transaction.Rollback()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := append(strings.SplitN(lines.Text(), " ", 3), "")
		value, err := fromText(fields[1], fields[2])
		if err != nil {
			return err
		}
		if _, err := transaction.Exec("INSERT INTO rows VALUES(?, ?)", fields[0], value); err != nil {
			return err
		}
	}
	return transaction.Commit()
}

func asText(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case int64:
		return fmt.Sprint("integer ", value)
	case float64:
		return fmt.Sprint("real ", value)
	case string:
		return "text " + value
	default:
		return fmt.Sprintf("blob %x", value)
	}
}

func read(database *sql.DB) error {
	rows, err := database.Query("SELECT id, value FROM rows ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number int64
		var value any
		if err := rows.Scan(&number, &value); err != nil {
			return err
		}
		fmt.Println(number, asText(value))
	}
	return rows.Err()
}

// Two connections; the results are collected until one of them fails.
type session struct {
	seen []string
	err  error
}

func (session *session) execute(connection *sql.Conn, statement string) {
	if session.err == nil {
		_, session.err = connection.ExecContext(context.Background(), statement)
	}
}

func (session *session) see(connection *sql.Conn, query string) {
	if session.err == nil {
		var value string
		row := connection.QueryRowContext(context.Background(), query)
		session.err = row.Scan(&value)
		session.seen = append(session.seen, value)
	}
}

func writeAheadLog(database *sql.DB) error {
	const count = "SELECT count(*) FROM log"
	one, err := database.Conn(context.Background())
	if err != nil {
		return err
	}
	defer one.Close()
	two, err := database.Conn(context.Background())
	if err != nil {
		return err
	}
	defer two.Close()
	session := &session{}
	session.see(one, "PRAGMA journal_mode=WAL")
	session.execute(one, "CREATE TABLE log(n); INSERT INTO log VALUES(1)")
	session.see(two, count)
	session.execute(one, "BEGIN; INSERT INTO log VALUES(2)")
	session.see(two, count)
	session.execute(one, "COMMIT")
	session.see(two, count)
	session.execute(two, "INSERT INTO log VALUES(3)")
	session.see(one, count)
	fmt.Println(strings.Join(session.seen, " "))
	return session.err
}

func run(operation, file, keyFile string) error {
	if err := loadExtension(); err != nil {
		return err
	}
	database, err := open(file, keyFile)
	if err != nil {
		return err
	}
	defer database.Close()
	switch operation {
	case "write":
		return write(database)
	case "read":
		return read(database)
	default:
		return writeAheadLog(database)
	}
}

func main() {
	arguments := append(os.Args[1:], "")
	if err := run(arguments[0], arguments[1], arguments[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
