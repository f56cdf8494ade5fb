package exercise

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/redlock"
)

// combinations lists all combinations of answers of a level.
func combinations(questions []Question) []map[string]string {
	all := []map[string]string{{}}
	for _, q := range questions {
		var more []map[string]string
		for _, before := range all {
			for _, o := range q.Options {
				next := map[string]string{q.Name: o.Value}
				for name, value := range before {
					next[name] = value
				}
				more = append(more, next)
			}
		}
		all = more
	}
	return all
}

// The catalogue breaks every wrong combination and not the right one.
func TestCases_BreakExactlyTheWrongLocks(t *testing.T) {
	needs.Long(t, "it runs the catalogue for each level")
	for _, l := range Levels() {
		right := 0
		for _, decided := range combinations(l.Questions) {
			without, err := l.Lock(func(q string) string { return decided[q] })
			require.NoError(t, err)
			p, err := l.cases(t.Context(), suite.Run, without)
			require.NoError(t, err)
			if len(without) == 0 {
				right++
				require.Nil(t, p.Broken, l.Name)
			} else {
				require.NotNil(t, p.Broken, "%s %v", l.Name, without)
				require.NotEmpty(t, p.Broken.Events)
			}
		}
		require.Equal(t, 1, right, "%s has one right answer", l.Name)
	}
}

// Each rule of the reference belongs to exactly one question.
func TestLevels_CoverEveryRuleOnce(t *testing.T) {
	decided := map[redlock.Rule]string{}
	for _, l := range Levels() {
		for _, q := range l.Questions {
			for _, o := range q.Options {
				for _, r := range o.Off {
					require.Contains(t, []string{"", l.Name + q.Name}, decided[r], r)
					decided[r] = l.Name + q.Name
				}
			}
		}
	}
	for _, r := range redlock.Rules() {
		if r.Rule == redlock.RestartGuard {
			continue // optional in the lock
		}
		require.NotEmpty(t, decided[r.Rule], r.Rule)
	}
}

// The right lock survives all schedules in several steps.
func TestExamine_RightLock_Passes(t *testing.T) {
	needs.Long(t, "it searches until every schedule is survived")
	l, _, found := Find("majority")
	require.True(t, found)
	p, err := Progress{}, error(nil)
	for !p.Passed() {
		before := p.Tried
		p, err = l.Examine(t.Context(), suite.Run, nil, before)
		require.NoError(t, err)
		require.Nil(t, p.Broken)
		require.Greater(t, p.Tried, before)
	}
}

// A random schedule breaks a wrong lock and has its events.
func TestSearch_WrongLock_Breaks(t *testing.T) {
	needs.Long(t, "it searches")
	p, err := search(t.Context(), suite.Run, []string{string(redlock.CompareAndDelete)}, 0)
	require.NoError(t, err)
	require.NotNil(t, p.Broken)
	require.True(t, p.Drawn)
	require.NotEmpty(t, p.Broken.Events)
	require.NotEmpty(t, p.Scenario.Script)
}

// A shorter validity than allowed is right, too. An error does not reveal the right formula.
func TestDecide_Validity_AcceptsEveryCorrectFormula(t *testing.T) {
	l, _, _ := Find("validity")
	for text, right := range map[string]bool{
		"ttl - elapsed - drift": true, "ttl - 2*elapsed - drift": true, "ttl/2 - elapsed - drift": true,
		"ttl - elapsed - 3*drift": true,
		"ttl":                     false, "ttl - elapsed/2 - drift": false, "0": false, "elapsed - ttl": false,
		"ttl - elapsed": false,
	} {
		o, err := l.Questions[0].Decide(text)
		require.Equal(t, right, err == nil && len(o.Off) == 0, text)
		if err != nil {
			require.NotContains(t, err.Error(), "ttl - elapsed", text)
		}
	}
}

func TestDecide_Quorum_ParsesExpressions(t *testing.T) {
	l, _, _ := Find("majority")
	quorum := func(text string) error {
		_, err := l.Questions[0].Decide(text)
		return err
	}
	for _, right := range []string{"N/2+1", "n / 2 + 1", "1+(N/2)", "(N+2)/2"} {
		require.NoError(t, quorum(right), right)
	}
	for text, want := range map[string]string{
		"": "choose an answer", "N": "more than a majority", "N/2+": "expected operand", "N/(N-N)": "division by zero",
		"(N": "expected ')'", "N 2": "expected 'EOF', found 2", "N%2": "want only numbers, names, + - * / and parentheses",
		"M/2": "unknown name", "1": "With n = 7 it gives 1",
		"N/2+1//comment and much more of it, so that it becomes too long": "longer",
	} {
		require.ErrorContains(t, quorum(text), want, text)
	}
}
