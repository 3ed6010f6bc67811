// Go's MySQL driver and GORM with protected columns.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/go-sql-driver/mysql"
)

const canary = "canary-59d2-in-plain-text"

func main() {
	switch os.Args[1] {
	case "driver":
		plainly()
	case "gorm":
		mapper()
	}
}

// configuration of a connection to the server, or to the proxy.
func configuration() *mysql.Config {
	own := mysql.NewConfig()
	own.Net = "tcp"
	own.Addr = net.JoinHostPort(os.Getenv("STRONGROOM_HOST"), os.Getenv("STRONGROOM_PORT"))
	own.User = os.Getenv("STRONGROOM_USER")
	own.Passwd = os.Getenv("STRONGROOM_PASSWORD")
	own.DBName = os.Getenv("STRONGROOM_DATABASE")
	own.ParseTime = true
	own.Collation = "utf8mb4_bin"
	return own
}

// say writes an answer.
func say(name string, value any) {
	text, err := json.Marshal(value)
	must(err)
	fmt.Printf("%s\t%s\n", name, text)
}

// says writes an answer, or the server's error.
func says(name string, does func() (any, error)) {
	value, err := does()
	var own *mysql.MySQLError
	switch {
	case errors.As(err, &own):
		say(name, []any{own.Number, string(own.SQLState[:]), own.Message})
	case err != nil:
		say(name, err.Error())
	default:
		say(name, value)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
