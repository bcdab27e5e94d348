// Package baselines keeps the runs that later runs are held against, and finds the ones
// that a cell may be compared with.
//
// A store is append-only. It holds entries of two kinds, one file each, and nothing that
// was written is ever changed:
//
//	records/<started>-<run id>.json   a run, with what was decided on its cells ([Record])
//	events/<at>-<id>.json             a promotion or a retraction ([Event])
//
// What counts as a baseline is computed by folding both ([Fold]): a record promotes the
// cells whose result allows it, an event promotes or retracts others. The fold doesn't
// depend on the order of the entries, nor on the clocks of those who wrote them: a
// retraction holds until a promotion names it.
//
// [Match] finds what a cell is compared with: promoted records of the same cell and runner
// class, under the same envelope, of an ancestor of the merge base. It says why where
// there are none. [Check] tells whether baselines went stale, [Prune] which records
// retention would drop. [Encode] and [Decode] are the format of a file, for all stores.
//
// All of that is pure: no file, no network, no clock. Where the files are is for a [Store]
// to know (baselines/dir; the suite that all of them must pass is baselines/storetest). The
// package judges no measurement (gate does), runs no git (the caller answers what is an
// ancestor), and decides no policy: a caller that must not write, such as a pull request,
// doesn't call Append.
package baselines
