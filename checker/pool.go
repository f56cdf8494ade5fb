package checker

import (
	"iter"
	"slices"
)

// pool holds values that stay where they are.
type pool[T any] struct{ places []*T }

// add gives a place for a value.
func (p *pool[T]) add() *T {
	place := new(T)
	p.places = append(p.places, place)
	return place
}

// all gives the values in the order in which they were added.
func (p *pool[T]) all() iter.Seq[*T] { return slices.Values(p.places) }
