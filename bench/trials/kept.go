package trials

import (
	"runtime"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// keptPerLease gives how many bytes the checker keeps of each lease of a history
// in a file: what is alive after each reading of it, the most of these, less
// what was alive before.
func keptPerLease(name string) (float64, error) {
	file, err := history.OpenFile(name)
	if err != nil {
		return 0, err
	}
	before, most := alive(), uint64(0)
	h, err := checker.Read(func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		most = max(most, alive())
		return err
	})
	if err != nil {
		return 0, err
	}
	verdict, err := h.Verdict()
	if err != nil {
		return 0, err
	}
	leases := verdict.Of(checker.MutualExclusion).Measured["leases"]
	return (float64(most) - float64(before)) / float64(leases), nil
}

// alive is how many bytes of the heap are in use.
func alive() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
