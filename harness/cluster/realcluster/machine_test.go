package realcluster

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// Valkey 9.1 shows a jump of its clock up to some milliseconds late.
func TestCheckClock_WaitsForTheServersClock(t *testing.T) {
	server, machine, before := miniredis.RunT(t), &Machine{}, time.Now()
	late := before.Add(-time.Hour)
	server.SetTime(late)
	time.AfterFunc(50*time.Millisecond, func() { server.SetTime(time.Time{}) })
	require.NoError(t, machine.CheckClock(t.Context(), server.Addr(), before))

	server.SetTime(late)
	require.ErrorContains(t, machine.CheckClock(t.Context(), server.Addr(), before), "off its clock")
}
