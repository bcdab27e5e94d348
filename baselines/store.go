package baselines

import (
	"context"
	"errors"
	"fmt"
)

// Store is where entries are kept. Its methods may be called by several goroutines and
// several processes at a time.
type Store interface {
	// Append adds an entry, whole or not at all, and returns when it is durable. It makes
	// the store where there is none. An entry of that name that stands already is never
	// replaced: the error then wraps [ErrExists].
	Append(ctx context.Context, e Entry) error
	// Entries reads all entries, sorted by name. A file that can't be read as an entry is
	// no error: it is named in Contents.Broken, skipped, and left where it is. Where there
	// is no store the error wraps [ErrMissing]; an empty store has empty contents.
	Entries(ctx context.Context) (Contents, error)
	// Remove deletes the records of these names, and no other. It deletes nothing where one
	// of them is missing, broken, or no record.
	Remove(ctx context.Context, names []string) error
}

// The errors that callers tell apart.
var (
	ErrMissing = errors.New("there is no baseline store")
	ErrExists  = errors.New("it is in the store already")
)

// Contents is what a store holds.
type Contents struct {
	Entries []Entry
	Broken  []Broken
}

// Broken is a file of a store that is no entry.
type Broken struct {
	Name string // as that of an entry
	Err  error  // what is wrong with it
}

// Error names the file and what is wrong with it.
func (b Broken) Error() string { return fmt.Sprintf("read baseline %s: %v", b.Name, b.Err) }

// Unwrap returns what is wrong.
func (b Broken) Unwrap() error { return b.Err }

// Entry is a record or an event: exactly one of them is set.
type Entry struct {
	Record *Record
	Event  *Event
}

// The folders of a store, with a slash behind them.
const (
	RecordFolder = "records/"
	EventFolder  = "events/"
)

// nameTime is how a time stands in a name: sorted by name is sorted by time.
const nameTime = "20060102T150405Z"

// Name is the entry's path in a store, with slashes. It follows from the content, so that
// two writers collide only where they write the same run.
func (e Entry) Name() string {
	if e.Record != nil {
		return RecordFolder + e.Record.Run.Started.UTC().Format(nameTime) + "-" + e.Record.Run.ID + ".json"
	}
	if e.Event != nil {
		return EventFolder + e.Event.At.UTC().Format(nameTime) + "-" + e.Event.ID + ".json"
	}
	return ""
}

// check says what is wrong with the entry.
func (e Entry) check() error {
	switch {
	case (e.Record == nil) == (e.Event == nil):
		return errors.New("an entry is either a record or an event")
	case e.Record != nil:
		return e.Record.check()
	}
	return e.Event.check()
}
