package checker

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

// crowd is a history of as many leases over a hundred keys by ten clients, each
// of which is given back, as a source that makes up its events as it goes. With
// an overlap, the last lease of each key begins before the one before it ends.
func crowd(leases int, overlap bool) Source {
	const keys, clients = 100, 10
	names := [keys]string{}
	for i := range names {
		names[i] = fmt.Sprint("k", i+1)
	}
	processes := [clients]string{}
	for i := range processes {
		processes[i] = fmt.Sprint("c", i+1)
	}
	header := tale().header
	return func(visit func(*history.Event) error) error {
		e := history.Event{Process: "harness", Type: history.TypeHeader, Header: &header}
		if err := visit(&e); err != nil {
			return err
		}
		for i := range leases {
			begin, id := int64(i)*1000, i/clients+1
			e = history.Event{Process: processes[i%clients], Op: history.OpAcquire, ID: 2*id - 1, Key: names[(i/clients+i)%keys]}
			e.Token = e.Key
			validity := int64(10_000)
			if overlap && i >= leases-keys {
				validity = keys * 2000
			}
			for _, step := range []struct {
				after int64
				typ   history.Type
				op    history.Op
			}{{0, history.TypeInvoke, history.OpAcquire}, {200, history.TypeOK, history.OpAcquire},
				{700, history.TypeInvoke, history.OpRelease}, {900, history.TypeOK, history.OpRelease}} {
				e.Time, e.Type, e.Op = begin+step.after, step.typ, step.op
				if e.Validity = 0; step.op == history.OpAcquire && step.typ == history.TypeOK {
					e.Validity = validity
				}
				if step.op == history.OpRelease {
					if overlap && i >= leases-2*keys {
						break // it is held until its deadline
					}
					e.ID, e.Lease = 2*id, 2*id-1
				}
				if err := visit(&e); err != nil {
					return err
				}
			}
		}
		e = history.Event{Time: e.Time, Process: "harness", Type: history.TypeEnd}
		return visit(&e)
	}
}

// BenchmarkCheckLeases judges histories of a thousand to a million leases, all
// properties by all oracles.
func BenchmarkCheckLeases(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		for _, overlap := range []bool{false, true} {
			want := map[bool]string{false: history.Holds, true: history.Violated}[overlap]
			b.Run(fmt.Sprintf("%s/%d", want, n), func(b *testing.B) {
				source := crowd(n, overlap)
				b.ReportAllocs()
				for b.Loop() {
					v, err := CheckSource(source)
					require.NoError(b, err)
					require.Equal(b, want, v.Of(history.MutualExclusion).Verdict)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/lease")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
			})
		}
	}
}

// BenchmarkPorcupine is the second oracle on one key's leases, as the checker
// cuts them and in one piece.
func BenchmarkPorcupine(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		leases := handovers(n)
		for _, whole := range []bool{false, true} {
			name := map[bool]string{false: "pieces", true: "whole"}[whole]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				size := pieceSize
				if whole {
					size = 2*n + 1
				}
				for b.Loop() {
					require.Equal(b, porcupine.CheckResult(porcupine.Ok), ownedMutexIn(leases, size))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/lease")
			})
		}
	}
}
