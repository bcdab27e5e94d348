package scheduler

// pool is the KV memory: blocks with reference counts, an index of cached content,
// and a list of the blocks that nobody references.
//
// The free list runs from the block that is taken next to the one that is taken last:
// blocks without cached content stand in front, the others in the order in which they
// were given back.
type pool struct {
	refs   []int32
	hash   []uint64
	cached []bool  // the block is the one that the index has for its hash
	next   []int32 // free list; the last element is the sentinel of the ring
	prev   []int32
	free   int
	index  map[uint64]int32
}

func newPool(blocks int) *pool {
	p := &pool{
		refs:   make([]int32, blocks),
		hash:   make([]uint64, blocks),
		cached: make([]bool, blocks),
		next:   make([]int32, blocks+1),
		prev:   make([]int32, blocks+1),
		index:  make(map[uint64]int32),
	}
	ring := int32(blocks)
	p.next[ring], p.prev[ring] = ring, ring
	for b := range ring {
		p.insertAfter(b, p.prev[ring])
	}
	return p
}

// lookup returns how many of the leading hashes are cached.
func (p *pool) lookup(hashes []uint64) int {
	for i, h := range hashes {
		if _, ok := p.index[h]; !ok {
			return i
		}
	}
	return len(hashes)
}

// fits reports whether a sequence can take over the cached blocks of these hashes and
// fresh more. Cached blocks that nobody references are part of what is free.
func (p *pool) fits(hashes []uint64, fresh int) bool {
	for _, h := range hashes {
		if p.refs[p.index[h]] == 0 {
			fresh++
		}
	}
	return fresh <= p.free
}

// claim appends the cached blocks of these hashes, which must be in the index.
func (p *pool) claim(blocks []int32, hashes []uint64) []int32 {
	for _, h := range hashes {
		b := p.index[h]
		if p.refs[b] == 0 {
			p.unlink(b)
		}
		p.refs[b]++
		blocks = append(blocks, b)
	}
	return blocks
}

// grow appends fresh blocks up to the given number, or returns false and changes
// nothing if too few are free.
func (p *pool) grow(blocks []int32, to int) ([]int32, bool) {
	if to-len(blocks) > p.free {
		return blocks, false
	}
	for len(blocks) < to {
		b := p.next[len(p.refs)]
		p.unlink(b)
		p.uncache(b)
		p.refs[b] = 1
		blocks = append(blocks, b)
	}
	return blocks, true
}

// cache offers a block's content to the index. If equal content is there already, the
// block stays anonymous.
func (p *pool) cache(b int32, hash uint64) {
	if p.cached[b] {
		return
	}
	if _, ok := p.index[hash]; ok {
		return
	}
	p.index[hash] = b
	p.hash[b], p.cached[b] = hash, true
}

// release gives a sequence's blocks back, the last one first, so that the tail of
// its content is evicted before the head, without which the tail is of no use.
func (p *pool) release(blocks []int32) {
	ring := int32(len(p.refs))
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		if p.refs[b]--; p.refs[b] > 0 {
			continue
		}
		if p.cached[b] {
			p.insertAfter(b, p.prev[ring])
		} else {
			p.insertAfter(b, ring)
		}
	}
}

// reset forgets all cached content, if nobody references any block.
func (p *pool) reset() bool {
	if p.free != len(p.refs) {
		return false
	}
	clear(p.index)
	clear(p.cached)
	return true
}

func (p *pool) uncache(b int32) {
	if p.cached[b] {
		delete(p.index, p.hash[b])
		p.cached[b] = false
	}
}

func (p *pool) insertAfter(b, at int32) {
	after := p.next[at]
	p.next[at], p.prev[b] = b, at
	p.next[b], p.prev[after] = after, b
	p.free++
}

func (p *pool) unlink(b int32) {
	p.next[p.prev[b]], p.prev[p.next[b]] = p.next[b], p.prev[b]
	p.free--
}
