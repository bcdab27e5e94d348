// Package config turns servegate.yaml into what servegate does: the plan of a run
// ([Config.Plan]), the policy of its gate, where baselines are kept.
//
// [Load] reads strictly and reports every fault at once, with file, line and a hint
// ([Faults]). What it returns is resolved: every default is filled in, and
// [Config.YAML] prints it as a config of its own that resolves to the same plan. The
// keys stand in one table (the files keys*.go), from which the parser, the resolved
// file and the JSON Schema ([Schema]) are all made; rules between keys stand in
// check.go.
//
// How YAML is read against a table is left to the package strict, how a plan is
// executed to runner, and what becomes of a fault (an exit code) to cli. [Load] looks
// nothing up in the environment and reads no secret: a config holds their names.
package config
