//go:build tools

// The program that `run` builds, so that `go mod tidy` keeps it.
package tools

import _ "github.com/pingcap/go-tpc/cmd/go-tpc"
