package main

import (
	"database/sql"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// plainly runs the same statements as prepared ones, and as texts in which the driver writes values.
func plainly() {
	for _, way := range []string{"prepared", "text"} {
		own := configuration()
		own.InterpolateParams = way == "text"
		connector, err := mysql.NewConnector(own)
		must(err)
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		statements(db, way+": ")
		must(db.Close())
	}
	own := configuration()
	own.MultiStatements = true
	connector, err := mysql.NewConnector(own)
	must(err)
	db := sql.OpenDB(connector)
	says("several", func() (any, error) {
		return rows(db, "INSERT INTO person (id, name) VALUES (500, '"+canary+";'); "+
			"SELECT id, name FROM person WHERE id = 500; DELETE FROM person WHERE id = 500")
	})
	must(db.Close())
}

func statements(db *sql.DB, way string) {
	born := time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC)
	run := func(name, text string, values ...any) {
		says(way+name, func() (any, error) { return changes(db, text, values...) })
	}
	ask := func(name, text string, values ...any) {
		says(way+name, func() (any, error) { return rows(db, text, values...) })
	}
	run("empty", "DELETE FROM visit")
	run("no persons", "DELETE FROM person")
	insert := "INSERT INTO person (id, name, born, salary, score, photo, active) VALUES (?, ?, ?, ?, ?, ?, ?)"
	run("ann", insert, 1, canary+" ann", born, "1234.50", int64(9007199254740993), []byte("photo"), true)
	run("bøb", insert, 2, canary+" bøb 🙂", "2004-02-29", "7.25", -1, nil, false)
	run("o'hara", insert, 3, canary+` o'hara \`, nil, nil, nil, []byte("'"), nil)
	ask("all", "SELECT * FROM person ORDER BY id")
	ask("by key", "SELECT name, salary FROM person WHERE id = ?", 2)
	ask("by text", "SELECT id FROM person WHERE name = ?", canary+` o'hara \`)
	ask("by several", "SELECT id FROM person WHERE id IN (?, ?) AND born IS NOT NULL", 1, 3)
	ask("by range", "SELECT id, born FROM person WHERE born < ? ORDER BY born", born.AddDate(1, 0, 0).Format("2006-01-02"))
	ask("sum", "SELECT SUM(salary) AS total FROM person")
	transaction, err := db.Begin()
	must(err)
	_, err = transaction.Exec("UPDATE person SET salary = ? WHERE id = ?", "8.75", 2)
	must(err)
	must(transaction.Rollback())
	ask("rolled back", "SELECT salary FROM person WHERE id = ?", 2)
	run("visit", "INSERT INTO visit (number, person_id, note) VALUES (?, ?, ?)", 5, 1, canary+" here")
	ask("join", "SELECT p.name, v.note FROM visit v JOIN person p ON p.id = v.person_id WHERE p.id = ?", 1)
	run("duplicate key", "INSERT INTO person (id, name) VALUES (?, ?)", 1, "x")
	run("no such person", "INSERT INTO visit (person_id, note) VALUES (?, ?)", 77, "x")
	run("too long", "UPDATE person SET name = ? WHERE id = ?", strings.Repeat("x", 41), 1)
	run("increment", "UPDATE person SET score = score + ? WHERE id = ?", 1, 1)
	run("upsert", "INSERT INTO person (id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = VALUES(name)", 3, "z")
	run("replace", "REPLACE INTO person (id, name) VALUES (?, ?)", 3, canary)
	run("deleted", "DELETE FROM visit WHERE person_id = ?", 1)
	prepared, err := db.Prepare("SELECT name FROM person WHERE id = ?")
	must(err)
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS other (id INT)")
	must(err)
	says(way+"prepared before a change elsewhere", func() (any, error) {
		var name string
		err := prepared.QueryRow(1).Scan(&name)
		return name, err
	})
	must(prepared.Close())
}

func changes(db *sql.DB, text string, values ...any) (any, error) {
	result, err := db.Exec(text, values...)
	if err != nil {
		return nil, err
	}
	count, err := result.RowsAffected()
	must(err)
	last, err := result.LastInsertId()
	must(err)
	return []int64{count, last}, nil
}

// rows are those of all results, each with names and types of its columns.
func rows(db *sql.DB, text string, values ...any) (any, error) {
	found, err := db.Query(text, values...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var told []any
	for {
		types, err := found.ColumnTypes()
		must(err)
		for _, one := range types {
			nullable, _ := one.Nullable()
			told = append(told, []any{one.Name(), one.DatabaseTypeName(), nullable})
		}
		for found.Next() {
			row := make([]any, len(types))
			places := make([]any, len(types))
			for index := range row {
				places[index] = &row[index]
			}
			must(found.Scan(places...))
			for index, value := range row {
				if bytes, is := value.([]byte); is {
					row[index] = string(bytes)
				}
			}
			told = append(told, row)
		}
		if !found.NextResultSet() {
			return told, found.Err()
		}
	}
}
