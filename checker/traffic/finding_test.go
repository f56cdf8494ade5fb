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

func TestFinding_NamesTheOperationBefore(t *testing.T) {
	requireFinding(t, newTape().took(1, "c1>n1", "a").took(2, "c2>n1", "b"), Cluster,
		"before it: a SET of a succeeded (c1>n1, at 0.001 s)")
	tape := newTape().freed(1, "c1>n1", "a").took(2, "c2>n1", "b").freed(3, "c3>n1", "b")
	requireFinding(t, tape, Cluster, "before it: a direct reading showed no key (n1, at 0.000 s)")
	requireFinding(t, newTape().took(1, "c1>n1", "a").freed(2, "c2>n1", "b"), Lock,
		"a script of the lock does not check the key's owner first")
}

// A key whose value is no string, such as a hash, has no token.
func TestFinding_NamesADirectReading(t *testing.T) {
	for want, o := range map[string]op{
		"a direct reading showed no key":                {action: look, answer: no},
		"a direct reading showed a":                     {action: look, answer: yes, seen: "a"},
		"a direct reading showed a key without a token": {action: look, answer: yes},
	} {
		assert.Equal(t, want, o.String())
	}
}

// All findings are counted, and the first are kept.
func TestFindingsAreCounted(t *testing.T) {
	tape := newTape()
	for i := range int64(3) {
		tape.took(1+i, "c1>n1", "a").freed(1+i, "c1>n1", "a")
	}
	for i := range int64(maxFindings + 5) { // each lease is one of too few nodes
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

func TestQuorumCheck(t *testing.T) {
	asked := func(change ...func(*history.Header)) *tape {
		return newTape(change...).said(1, "c1", history.TypeInvoke, history.OpAcquire, "", "")
	}
	granted := func(t *tape, at int64, token string) *tape {
		return t.said(at, "c1", history.TypeOK, history.OpAcquire, token, "")
	}
	holder := func() *tape { return granted(asked().took(2, "c1>n1", "a").took(2, "c1>n2", "a"), 3, "a") }
	extending := func() *tape { return holder().said(4, "c1", history.TypeInvoke, history.OpExtend, "a", "") }
	unsaid := func(h *history.Header) { h.Quorum = 0 }

	tests := []struct {
		name string
		tape *tape
		what string // "": no finding
	}{
		{"a majority", holder(), ""},
		{"too few", granted(asked().took(2, "c1>n1", "a"), 3, "a"), "with the consent of 1 of 3 nodes, although the lock " +
			"declares that it needs 2"},
		{"one node twice", granted(asked().took(2, "c1>n1", "a").freed(2, "c1>n1", "a").took(2, "c1>n1", "a"), 3, "a"),
			"the consent of 1 of 3"},
		{"another token's", granted(asked().took(2, "c1>n1", "b").took(2, "c1>n2", "b"), 3, "a"), "the consent of 0 of 3"},
		{"another client's", granted(asked().took(2, "c2>n1", "a").took(2, "c2>n2", "a"), 3, "a"), "the consent of 0 of 3"},
		{"from before it asked", granted(newTape().took(0, "c1>n1", "a").took(0, "c1>n2", "a").
			said(1, "c1", history.TypeInvoke, history.OpAcquire, "", ""), 3, "a"), "the consent of 0 of 3"},
		{"it says nothing of majorities", granted(asked(unsaid).took(2, "c1>n1", "a"), 3, "a"), ""},
		{"it has no token", granted(asked().took(2, "c1>n1", "a"), 3, ""), ""},

		{"extended by a majority", extending().extended(5, "c1>n1", "a", true).extended(5, "c1>n2", "a", true).
			said(6, "c1", history.TypeOK, history.OpExtend, "a", ""), ""},
		{"extended by too few", extending().extended(5, "c1>n1", "a", true).
			said(6, "c1", history.TypeOK, history.OpExtend, "a", ""), `extended "k" with the consent of 1 of 3`},
		{"the last extension is not this one", extending().extended(5, "c1>n1", "a", true).extended(5, "c1>n2", "a", true).
			said(6, "c1", history.TypeOK, history.OpExtend, "a", "").
			said(7, "c1", history.TypeInvoke, history.OpExtend, "a", "").
			said(8, "c1", history.TypeOK, history.OpExtend, "a", ""), "the consent of 0 of 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.what == "" {
				requireFinding(t, test.tape, "", "")
				return
			}
			assert.Equal(t, "c1", requireFinding(t, test.tape, Lock, test.what).Findings[0].Process)
		})
	}
}
