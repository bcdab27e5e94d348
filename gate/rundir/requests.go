package rundir

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/servegate/servegate/gate"
)

// ErrTruncated says that the records of a run that was cut short end in the midst of
// one. The records before it are good.
var ErrTruncated = errors.New("cut short")

// Buffer is memory that [Dir.ReadRequests] uses again and again. Its zero value is
// ready. It serves one goroutine.
type Buffer struct {
	inflater inflater
	lines    lineReader
	decoder  *decoder
	requests []gate.Request
}

// ReadRequests returns all raw records of one repetition, in the order in which they
// ended. They lie in buf and are good until it is used again. On an error the records
// before it are returned with it: where the run was cut short and its file is, the
// error is [ErrTruncated].
func (d *Dir) ReadRequests(cellID string, index int, buf *Buffer) ([]gate.Request, error) {
	file, err := buf.open(d, Ref{Cell: cellID, Index: index})
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buf.requests = buf.requests[:0]
	arrivals := 0
	for {
		line, err := buf.lines.next()
		if err == io.EOF {
			return buf.requests, nil
		}
		n := len(buf.requests)
		if err != nil {
			return buf.requests, d.fault(file, n, err)
		}
		buf.requests = append(buf.requests, gate.Request{})
		r := &buf.requests[n]
		if err := buf.decoder.decode(line, r); err != nil {
			return buf.requests[:n], d.fault(file, n, err)
		}
		arrivals += len(r.Arrivals) + len(r.ChunkTokens)
		if what := d.limits.exceeded(n+1, arrivals, len(line)); what != "" {
			return buf.requests[:n], d.fault(file, n, errors.New(what))
		}
	}
}

// Requests returns the raw records of one repetition one by one, in the order in which
// they ended; each may be kept. After an error none follows: where the run was cut short
// and its file is, the last error is [ErrTruncated].
func (d *Dir) Requests(cellID string, index int) iter.Seq2[gate.Request, error] {
	return func(yield func(gate.Request, error) bool) {
		var buf Buffer
		file, err := buf.open(d, Ref{Cell: cellID, Index: index})
		if err != nil {
			yield(gate.Request{}, err)
			return
		}
		defer file.Close()
		for n := 0; ; n++ {
			line, err := buf.lines.next()
			if err == io.EOF {
				return
			}
			var r gate.Request
			if err == nil {
				buf.decoder.reset()
				err = buf.decoder.decode(line, &r)
			}
			if err != nil {
				yield(gate.Request{}, d.fault(file, n, err))
				return
			}
			r.Arrivals, r.ChunkTokens = slices.Clone(r.Arrivals), slices.Clone(r.ChunkTokens)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// open makes b ready to read the records of ref.
func (b *Buffer) open(d *Dir, ref Ref) (*os.File, error) {
	if err := ref.check(); err != nil {
		return nil, fmt.Errorf("read raw records: %w", err)
	}
	file, _, err := d.openFile(ref.file(requestsName))
	if err != nil {
		return nil, fmt.Errorf("read raw records of %s: %w", ref, err)
	}
	if err := b.inflater.reset(file, d.limits.bytes); err != nil {
		file.Close()
		return nil, d.fault(file, 0, err)
	}
	b.lines.reset(&b.inflater, d.limits.line)
	if b.decoder == nil {
		b.decoder = newDecoder()
	}
	b.decoder.reset()
	return file, nil
}

// fault says that reading file failed after n records.
func (d *Dir) fault(file *os.File, n int, err error) error {
	switch {
	case errors.Is(err, errCut) && !d.run.Complete:
		return fmt.Errorf("read %s: %w after %d records, since the run was", file.Name(), ErrTruncated, n)
	case errors.Is(err, errCut):
		return fmt.Errorf("read %s: damaged after %d records: %w, though the run is complete", file.Name(), n, err)
	}
	return fmt.Errorf("read %s: record %d: %w", file.Name(), n+1, err)
}

// arena hands out slices from large blocks, so that a million short lists cost a few
// hundred allocations, and none when they are read again into the same memory.
type arena[T any] struct {
	blocks [][]T // all blocks, each cut to what is used of it
	block  int   // the one being filled
	start  int   // where the slice being made begins in it
}

// arenaBlock is the number of elements of a block.
const arenaBlock = 1 << 15

// reset takes back all slices handed out.
func (a *arena[T]) reset() {
	for i := range a.blocks {
		a.blocks[i] = a.blocks[i][:0]
	}
	a.block, a.start = 0, 0
}

// begin starts a slice; one that was begun and never ended is dropped.
func (a *arena[T]) begin() {
	if len(a.blocks) == 0 {
		a.blocks = append(a.blocks, make([]T, 0, arenaBlock))
	}
	a.blocks[a.block] = a.blocks[a.block][:a.start]
}

// add appends v to the slice begun.
func (a *arena[T]) add(v T) {
	block := a.blocks[a.block]
	if len(block) == cap(block) {
		a.move()
		block = a.blocks[a.block]
	}
	a.blocks[a.block] = append(block, v)
}

// move takes the slice begun, which has filled its block, to a block with room for
// twice as much.
func (a *arena[T]) move() {
	full := a.blocks[a.block]
	begun := full[a.start:]
	a.blocks[a.block] = full[:a.start]
	need := 2 * len(begun)
	if a.start > 0 {
		a.block++
	}
	switch {
	case a.block == len(a.blocks):
		a.blocks = append(a.blocks, make([]T, 0, max(need, arenaBlock)))
	case cap(a.blocks[a.block]) < need:
		a.blocks[a.block] = make([]T, 0, max(need, arenaBlock))
	}
	a.blocks[a.block] = append(a.blocks[a.block][:0], begun...)
	a.start = 0
}

// end returns the slice begun.
func (a *arena[T]) end() []T {
	block := a.blocks[a.block]
	s := block[a.start:len(block):len(block)]
	a.start = len(block)
	return s
}
