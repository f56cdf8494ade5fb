package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPoolKeepsItsValuesInPlaceAndInOrder(t *testing.T) {
	var p pool[int]
	var places []*int
	for i := range 100_000 { // many blocks of the largest size
		place := p.add()
		require.Zero(t, *place)
		*place = i
		places = append(places, place)
	}
	require.Equal(t, places, slices.Collect(p.all()))
	require.Equal(t, 99_999, *places[99_999])
}
