package link

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What is due comes in its order, and what is due at one instant in the order in which it
// was made, whatever the order in which it was set.
func TestAnAgendaKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAgenda()
		began := time.Now()
		var done []string
		note := func(what string) func() {
			return func() { done = append(done, fmt.Sprint(what, " ", time.Since(began))) }
		}
		first, second, third := a.New(note("first")), a.New(note("second")), a.New(note("third"))
		third.Set(time.Second)
		second.Set(time.Second)
		first.Set(2 * time.Second)
		first.Set(time.Second) // sooner than it was set to
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"first 1s", "second 1s", "third 1s"}, done)

		done = nil
		again := a.New(func() {})
		again.do = func() {
			note("again")()
			if len(done) < 3 {
				again.Set(time.Nanosecond) // while what is due is being done
			}
		}
		second.Set(time.Hour)
		second.Set(2 * time.Hour) // later than it was set to
		again.Set(0)
		time.Sleep(90 * time.Minute)
		require.Equal(t, []string{"again 3s", "again 3.000000001s", "again 3.000000002s"}, done)

		a.End()
		time.Sleep(time.Hour)
		require.Len(t, done, 3, "nothing is done after the end")
	})
}
