package checker

import "iter"

// pool holds many small values that stay where they are. It grows by blocks, so
// that no copy of a long list is ever made.
type pool[T any] struct {
	blocks [][]T
}

// blockSize is how many values are allocated at a time.
const blockSize = 512

// add gives a place for a value.
func (p *pool[T]) add() *T {
	last := len(p.blocks) - 1
	if last < 0 || len(p.blocks[last]) == blockSize {
		p.blocks = append(p.blocks, make([]T, 0, blockSize))
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
