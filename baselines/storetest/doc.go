// Package storetest is what every baseline store must pass: [Run] holds one against the
// contract of [baselines.Store]. It also makes the entries that tests put into stores.
//
// What only one kind of store can show (links, permissions, lost connections, processes
// that are killed) is left to the tests of that store.
package storetest
