package traffic

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestFindingsAreInOrder(t *testing.T) {
	for range 20 {
		tape := newTape()
		for i := range int64(3) {
			link := fmt.Sprint(">n", 3-i)
			tape.took(2*i+1, "c1"+link, "a").took(2*i+2, "c2"+link, "b")
		}
		report := tape.report()
		require.Len(t, report.Findings, 3)
		require.True(t, slices.IsSortedFunc(report.Findings, func(a, b Finding) int { return a.Event - b.Event }))
	}
}

// A finding names what came before it.
func TestFindingsTellWhatCameBefore(t *testing.T) {
	tape := newTape().took(1, "c1>n1", "a").took(2, "c2>n1", "b")
	assert.Contains(t, tape.report().Findings[0].What, "before it: a SET of a succeeded (c1>n1, at 0.001 s)")
	tape = newTape().freed(1, "c1>n1", "a").took(2, "c2>n1", "b").freed(3, "c3>n1", "b")
	assert.Contains(t, tape.report().Findings[0].What, "before it: a look showed no key (n1, at 0.000 s)")
	assert.Contains(t, newTape().took(1, "c1>n1", "a").freed(2, "c2>n1", "b").report().Findings[0].What,
		"a script of the lock does not ask first")
}

// All findings are counted, and the first of them are told.
func TestFindingsAreCounted(t *testing.T) {
	tape := newTape()
	for i := range int64(3) {
		tape.took(1+i, "c1>n1", "a").freed(1+i, "c1>n1", "a")
	}
	for i := range int64(maxFindings + 5) { // of as many leases, each is one of too few nodes
		tape.said(10+i, "c1", history.TypeInvoke, history.OpAcquire, "", "").said(10+i, "c1", history.TypeOK,
			history.OpAcquire, "x", "")
	}
	report := tape.report()
	assert.Len(t, report.Findings, maxFindings)
	assert.Equal(t, maxFindings+5, report.Count)
	assert.Equal(t, maxFindings+5, report.Believed)
	assert.Nil(t, report.About(Cluster))
	assert.NotNil(t, report.About(Lock))
}
