package checker

import "iter"

// pool holds many small values that stay where they are. It grows by blocks, so
// that no copy of a long list is ever made.
type pool[T any] struct {
	blocks [][]T
}

// How many values are allocated at a time: few at first, since most histories are
// short and there are thousands of them, then twice as many each time, up to 512.
const (
	firstBlock = 16
	doublings  = 5
)

// add gives a place for a value.
func (p *pool[T]) add() *T {
	last := len(p.blocks) - 1
	if last < 0 || len(p.blocks[last]) == cap(p.blocks[last]) {
		p.blocks = append(p.blocks, make([]T, 0, firstBlock<<min(len(p.blocks), doublings)))
		last++
	}
	block := p.blocks[last]
	p.blocks[last] = block[:len(block)+1]
	return &p.blocks[last][len(block)]
}

// all gives the values in the order in which they were added.
func (p *pool[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, block := range p.blocks {
			for i := range block {
				if !yield(&block[i]) {
					return
				}
			}
		}
	}
}
