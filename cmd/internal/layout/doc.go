// Package layout holds the code to the plan of the house, by test: who may import whom,
// what may stand at the root, how large functions, files, packages and interfaces may
// grow, and which words are not used. The table of packages is in table_test.go, the
// rules in rules_test.go; each says why it is there.
//
// It parses the sources itself, since the test cache doesn't see what a command such as
// go list reads and would answer "ok" for a tree that has changed. It builds nothing,
// knows no other package of the module, and leaves style to gofumpt and staticcheck.
package layout
