package reports

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/reports/terminal"
)

func TestAssumptionsText(t *testing.T) {
	rows := []Assumption{
		{Name: "none", Broken: "what every lock has to survive", Schedules: 9, Judged: 3, Violated: "mutual-exclusion, FreshToken",
			After: 7, Steps: 5, Repeat: "lockproof run a.yaml --seed 7"},
		{Name: "memory", Broken: "nodes forget", Schedules: 9, Judged: 4, Violated: "mutual-exclusion, nodes remember", After: 2, Steps: 3,
			Repeat: "lockproof run b.yaml --seed 2"},
		{Name: "clocks", Broken: "clocks jump", Schedules: 9, Judged: 2},
		{Name: "pauses", Broken: "holders sleep", Schedules: 9},
		{Name: "servers", Broken: "one stands twice", Schedules: 9},
	}
	require.Equal(t, `broken   schedules  to the test  first violation                   after  steps
---------------------------------------------------------------------------------
none     9          3            mutual-exclusion, FreshToken      7      5
memory   9          4            mutual-exclusion, nodes remember  2      3
clocks   9          2            none found
pauses   9          0            nothing was put to the test
servers  9          0            nothing was put to the test

none: what every lock has to survive
memory: nodes forget
clocks: clocks jump
pauses: holders sleep
servers: one stands twice

mylock is violated with no assumption broken. mylock rests on: memory. Broken, each led to a
violation. Nothing was found with clocks, which shows how long it was looked for, and no more.
  lockproof run a.yaml --seed 7
  lockproof run b.yaml --seed 2
`, AssumptionsText("mylock", rows, terminal.Screen{Width: 100}))
}
