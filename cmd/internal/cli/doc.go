// Package cli is the command line of servegate: one file a subcommand, flags and
// streams, and the one place where an error becomes an exit code.
//
// Rules of its output: the result goes to stdout and everything else to stderr, with
// the prefix "servegate:", in lower case and without a final period; an error is one
// line that names the cause, and a hint line where there is a remedy. What the commands
// do stands in the packages that they join.
package cli
