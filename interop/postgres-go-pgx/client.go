// pgx writes and reads protected columns like any others.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const canary = "canary-59d2-in-plain-text"
const columns = "id, born, salary, score, photo, active, name"
const insert = "INSERT INTO person (" + columns + ") VALUES ($1, $2, $3, $4, $5, $6, $7)"

type person struct {
	id     int32
	born   *time.Time
	salary pgtype.Numeric
	score  *int64
	photo  []byte
	active *bool
	name   string
}

func check(what string, wanted, got any) {
	if fmt.Sprint(wanted) != fmt.Sprint(got) {
		fail(fmt.Errorf("%s: expected %v, got %v", what, wanted, got))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse(line string) person {
	words := strings.SplitN(line, " ", 7)
	one := person{name: words[6]}
	_, err := fmt.Sscan(words[0], &one.id)
	fail(err)
	if words[1] != "NULL" {
		born, err := time.Parse("2006-01-02", words[1])
		fail(err)
		one.born = &born
	}
	if words[2] != "NULL" {
		fail(one.salary.Scan(words[2]))
	}
	if words[3] != "NULL" {
		one.score = new(int64)
		_, err := fmt.Sscan(words[3], one.score)
		fail(err)
	}
	if words[4] != "NULL" {
		one.photo, err = hex.DecodeString(words[4])
		fail(err)
	}
	if words[5] != "NULL" {
		active := words[5] == "t"
		one.active = &active
	}
	return one
}

func (one person) show() string {
	texts := []string{fmt.Sprint(one.id), "NULL", "NULL", "NULL", "NULL", "NULL", one.name}
	if one.born != nil {
		texts[1] = one.born.Format("2006-01-02")
	}
	if one.salary.Valid {
		value, err := one.salary.Value()
		fail(err)
		texts[2] = fmt.Sprint(value)
	}
	if one.score != nil {
		texts[3] = fmt.Sprint(*one.score)
	}
	if one.photo != nil {
		texts[4] = hex.EncodeToString(one.photo)
	}
	if one.active != nil {
		texts[5] = map[bool]string{true: "t", false: "f"}[*one.active]
	}
	return strings.Join(texts, " ")
}

func login(ctx context.Context) {
	connection, err := pgx.Connect(ctx, os.Getenv("STRONGROOM_URL"))
	if err != nil {
		fmt.Println(code(err), err)
		return
	}
	defer connection.Close(ctx)
	_, isTLS := connection.PgConn().Conn().(*tls.Conn)
	check("TLS", true, isTLS)
	var user string
	var serverTLS bool
	row := connection.QueryRow(ctx, "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
	fail(row.Scan(&user, &serverTLS))
	fmt.Println(user, map[bool]string{true: "t", false: "f"}[serverTLS])
}

func write(ctx context.Context, connection *pgx.Conn) {
	batch := &pgx.Batch{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		one := parse(lines.Text())
		batch.Queue(insert, one.id, one.born, one.salary, one.score, one.photo, one.active, one.name)
	}
	fail(lines.Err())
	fail(connection.SendBatch(ctx, batch).Close())
}

func read(ctx context.Context, connection *pgx.Conn) {
	rows, err := connection.Query(ctx, "SELECT "+columns+" FROM person")
	fail(err)
	var people []person
	for rows.Next() {
		var one person
		fail(rows.Scan(&one.id, &one.born, &one.salary, &one.score, &one.photo, &one.active, &one.name))
		people = append(people, one)
	}
	fail(rows.Err())
	sort.Slice(people, func(one, other int) bool { return people[one].id < people[other].id })
	for _, one := range people {
		fmt.Println(one.show())
	}
}

func ids(ctx context.Context, connection *pgx.Conn, query string, values ...any) []int32 {
	rows, err := connection.Query(ctx, query, values...)
	fail(err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	fail(err)
	return found
}

func code(err error) string {
	var known *pgconn.PgError
	if errors.As(err, &known) {
		return known.Code
	}
	return fmt.Sprint(err)
}

// In every mode in which pgx can send a statement.
func more(ctx context.Context, _ *pgx.Conn) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		config, err := pgx.ParseConfig(os.Getenv("STRONGROOM_URL"))
		fail(err)
		config.DefaultQueryExecMode = mode
		var notices []string
		config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) {
			notices = append(notices, notice.Severity+" "+notice.Code+" "+notice.Message)
		}
		connection, err := pgx.ConnectConfig(ctx, config)
		fail(err)
		inMode(ctx, connection, mode.String())
		saved(ctx, connection, mode.String())
		copied(ctx, connection, mode.String())
		prepared(ctx, connection, mode.String())
		cancelled(ctx, connection, mode.String())
		noticed(ctx, connection, mode.String(), &notices)
		fail(connection.Close(ctx))
	}
}

func inMode(ctx context.Context, connection *pgx.Conn, mode string) {
	for round := 0; round < 3; round++ {
		check(mode+", by name", []int32{1}, ids(ctx, connection, "SELECT id FROM person WHERE name = $1", canary+" ann"))
	}
	from, to := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	found := ids(ctx, connection, "SELECT id FROM person WHERE born BETWEEN $1 AND $2 ORDER BY born DESC", from, to)
	check(mode+", by range", []int32{2, 1}, found)

	transaction, err := connection.Begin(ctx)
	fail(err)
	_, err = transaction.Exec(ctx, "UPDATE person SET name = $1 WHERE id = $2", canary+" gone", 1)
	fail(err)
	fail(transaction.Rollback(ctx))
	var name string
	fail(connection.QueryRow(ctx, "SELECT name FROM person WHERE id = $1", 1).Scan(&name))
	check(mode+", rolled back", canary+" ann", name)

	batch := &pgx.Batch{}
	for number := 0; number < 20; number++ {
		batch.Queue("INSERT INTO visit VALUES ($1, $2, $3)", 1, number, fmt.Sprintf("%s %d", canary, number))
	}
	fail(connection.SendBatch(ctx, batch).Close())
	deleted, err := connection.Exec(ctx, "DELETE FROM visit WHERE person_id = $1", 1)
	fail(err)
	check(mode+", deleted", 20, deleted.RowsAffected())

	for wanted, values := range map[string][]any{
		"23505": {1, nil, nil, nil, nil, nil, canary},
		"23502": {9, nil, nil, nil, nil, nil, nil},
		"22001": {9, nil, nil, nil, nil, nil, canary + canary},
	} {
		_, err := connection.Exec(ctx, insert, values...)
		check(mode+", refused", wanted, code(err))
	}
	_, err = connection.Exec(ctx, "INSERT INTO visit VALUES ($1, $2, NULL)", 99, 1)
	check(mode+", foreign key", "23503", code(err))
}

// An error inside a savepoint: earlier changes stay, later ones are gone.
func saved(ctx context.Context, connection *pgx.Conn, mode string) {
	const change = "UPDATE person SET name = $1 WHERE id = $2"
	transaction, err := connection.Begin(ctx)
	fail(err)
	_, err = transaction.Exec(ctx, change, canary+" kept", 2)
	fail(err)
	inner, err := transaction.Begin(ctx)
	fail(err)
	_, err = inner.Exec(ctx, change, canary+" lost", 3)
	fail(err)
	_, err = inner.Exec(ctx, insert, 1, nil, nil, nil, nil, nil, canary)
	check(mode+", key twice", "23505", code(err))
	fail(inner.Rollback(ctx))
	for id, wanted := range map[int]string{2: canary + " kept", 3: canary + ` o'hara \`} {
		var name string
		fail(transaction.QueryRow(ctx, "SELECT name FROM person WHERE id = $1", id).Scan(&name))
		check(mode+", savepoint", wanted, name)
	}
	fail(transaction.Rollback(ctx))
}

func copied(ctx context.Context, connection *pgx.Conn, mode string) {
	var rows [][]any
	var wanted []string
	for number := 100; number < 200; number++ {
		row, line := []any{2, number, nil}, fmt.Sprintf("2\t%d\t\\N", number)
		if number%10 != 0 {
			note := fmt.Sprintf("%s ø %d", canary, number)
			row[2], line = note, fmt.Sprintf("2\t%d\t%s", number, note)
		}
		rows, wanted = append(rows, row), append(wanted, line)
	}
	names := []string{"person_id", "number", "note"}
	count, err := connection.CopyFrom(ctx, pgx.Identifier{"visit"}, names, pgx.CopyFromRows(rows))
	fail(err)
	check(mode+", copied in", 100, count)
	var out bytes.Buffer
	_, err = connection.PgConn().CopyTo(ctx, &out, "COPY visit TO STDOUT")
	fail(err)
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	sort.Strings(got)
	check(mode+", copied out", strings.Join(wanted, "\n"), strings.Join(got, "\n"))
	deleted, err := connection.Exec(ctx, "DELETE FROM visit WHERE person_id = 2")
	fail(err)
	check(mode+", deleted", 100, deleted.RowsAffected())
}

// Ten times, while the table gains and loses a column.
func prepared(ctx context.Context, connection *pgx.Conn, mode string) {
	_, err := connection.Prepare(ctx, "add", "INSERT INTO visit (person_id, number, note) VALUES (3, $1, $2)")
	fail(err)
	_, err = connection.Prepare(ctx, "find", "SELECT note FROM visit WHERE person_id = 3 AND number = $1")
	fail(err)
	for number := 0; number < 10; number++ {
		if change, ok := map[int]string{4: "ADD COLUMN room integer", 7: "DROP COLUMN room"}[number]; ok {
			_, err := connection.Exec(ctx, "ALTER TABLE visit "+change)
			fail(err)
		}
		wanted := fmt.Sprintf("%s %d", canary, number)
		_, err := connection.Exec(ctx, "add", number, wanted)
		fail(err)
		var note string
		fail(connection.QueryRow(ctx, "find", number).Scan(&note))
		check(mode+", prepared", wanted, note)
	}
	deleted, err := connection.Exec(ctx, "DELETE FROM visit WHERE person_id = $1", 3)
	fail(err)
	check(mode+", deleted", 10, deleted.RowsAffected())
}

// The driver cancels a statement that waits for a row, and the session goes on.
func cancelled(ctx context.Context, connection *pgx.Conn, mode string) {
	const score = "SELECT score FROM person WHERE id = 1"
	const change = "UPDATE person SET score = score + 1 WHERE id = 1"
	other, err := pgx.Connect(ctx, os.Getenv("STRONGROOM_URL"))
	fail(err)
	defer other.Close(ctx)
	holding, err := other.Begin(ctx)
	fail(err)
	_, err = holding.Exec(ctx, score+" FOR UPDATE")
	fail(err)
	outcome := make(chan error, 1)
	go func() {
		_, err := connection.Exec(ctx, change)
		outcome <- err
	}()
	for count := 0; count == 0; {
		check(mode+", outcomes before it was cancelled", 0, len(outcome))
		fail(holding.QueryRow(ctx, "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&count))
	}
	fail(connection.PgConn().CancelRequest(ctx))
	check(mode+", cancelled", "57014", code(<-outcome))
	fail(holding.Rollback(ctx))
	transaction, err := connection.Begin(ctx)
	fail(err)
	for _, wanted := range []int64{9007199254740993, 9007199254740994} {
		var got int64
		fail(transaction.QueryRow(ctx, score).Scan(&got))
		check(mode+", score", wanted, got)
		_, err = transaction.Exec(ctx, change)
		fail(err)
	}
	fail(transaction.Rollback(ctx))
}

func noticed(ctx context.Context, connection *pgx.Conn, mode string, notices *[]string) {
	*notices = nil
	for _, text := range []string{
		"DO $$ BEGIN RAISE NOTICE 'told %', 7; END $$",
		"CREATE TABLE IF NOT EXISTS visit (person_id integer, number integer, note text)",
	} {
		_, err := connection.Exec(ctx, text)
		fail(err)
	}
	found := ids(ctx, connection, "SELECT id FROM person WHERE name = $1", canary+" ann")
	check(mode+", behind notices", []int32{1}, found)
	wanted := []string{"NOTICE 00000 told 7", `NOTICE 42P07 relation "visit" already exists, skipping`}
	check(mode+", notices", wanted, *notices)
}

func main() {
	ctx := context.Background()
	if os.Args[1] == "login" {
		login(ctx)
		return
	}
	connection, err := pgx.Connect(ctx, os.Getenv("STRONGROOM_URL"))
	fail(err)
	defer connection.Close(ctx)
	map[string]func(context.Context, *pgx.Conn){"write": write, "read": read, "more": more}[os.Args[1]](ctx, connection)
}
