// Package strict reads YAML against a table of keys, and reports everything that is
// wrong with it at once, each fault with its line and a hint.
//
// One table does three things. It is made of [Value]s, each bound to a Go variable:
// reading sets the variables, writing prints them, and the schema describes what may
// be written. So the parser, the resolved file and the published JSON Schema can't
// tell three different stories.
//
// The package treats its input as hostile: size, depth and expansion are bounded,
// tags and merge keys are refused, and nothing is expanded in a value. It knows
// nothing of what the keys mean; rules between keys are the caller's, who reports
// them through the same [Reader].
package strict
