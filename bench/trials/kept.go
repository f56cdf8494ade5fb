package trials

import (
	"runtime"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// keptPerLease returns the bytes that the checker keeps for each lease of a history in a file: the largest heap after a
// reading, less the heap before.
func keptPerLease(name string) (float64, error) {
	file, err := history.OpenFile(name)
	if err != nil {
		return 0, err
	}
	before, most := heapInUse(), uint64(0)
	h, err := checker.Read(func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		most = max(most, heapInUse())
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

// heapInUse is the size of the heap in use.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
