// Package dir is a baseline store in a directory: a folder of a repository's checkout, a
// disk of a runner, a share that all runners mount.
//
// An entry is written under a hidden name beside its place, brought to the disk, and given
// its name by a hard link, which fails where the name is taken: it is there whole or not
// at all, whatever kills the writer, and never replaces another. A writer that was killed
// leaves at most a hidden file, which no reader looks at.
//
// What is read is trusted in nothing: no symbolic link is followed, no size believed. The
// format of the files, and what they mean, is for package baselines to know.
package dir
