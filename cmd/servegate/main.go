// Command servegate gates the performance of LLM-serving engines: it boots an engine,
// measures a pinned matrix of workloads and loads, and answers with numbers that know
// the conditions they hold under. See servegate --help.
package main

import (
	"os"

	"github.com/servegate/servegate/cmd/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.System(), os.Args[1:]))
}
