package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
)

// readRegisters reads each register that was written to one last time, past every
// link. A write whose reply was lost, and which overwrote another's, may have been
// seen by nobody before.
func (r *run) readRegisters(ctx context.Context) error {
	r.clients.mu.Lock()
	keys := slices.Sorted(maps.Keys(r.clients.writtenKeys))
	r.clients.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	asked := r.cluster.Now()
	store, err := r.cluster.Node(history.StoreName).Look(ctx)
	if err == nil && !store.Up {
		err = errors.New("it is down")
	}
	if err != nil {
		return fmt.Errorf("reading the registers at the store at the end: %w", err)
	}
	for i, key := range keys {
		read := history.Event{Time: asked, Process: "harness", Type: history.TypeInvoke, Op: history.OpRead, ID: i + 1,
			Key: key}
		r.record(read)
		read.Time, read.Type, read.Value = r.cluster.Now(), history.TypeOK, store.Keys[client.Register(key)].Token
		r.record(read)
	}
	return nil
}
