// Package gating joins what runner and baselines each know half of: it finds what a run
// is held against, says which cells can't be compared before anything is booted, has the
// verdict made, and makes records of runs that become baselines.
//
// It measures nothing itself and decides nothing: runner measures, gate decides, and
// package baselines knows which records count. Where files lie and what is printed is
// for the command line to know.
package gating
