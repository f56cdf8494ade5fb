package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Fill fills a node's memory with another user's data.
const Fill = "fill"

var _ = declare(&Declaration{
	Kind: Fill, Doc: "another user fills the node's memory up to `maxmemory`; ten times over if the policy evicts keys, " +
		"and with expiring keys if it evicts only those",
	Node:     &Effect{Class: history.NodeMemory, Needs: cluster.AbilityServer},
	Optional: []string{"for"},
	Words: Words{
		Noun:        "full memory of",
		Instruction: instructionFor("fill the memory of %s with another user's data"),
		Begin: func(f history.Fault) string {
			return "another user fills the memory of " + targetList(f) + evictedText(f.Measured["evicted_keys"])
		},
		End: func(f history.Fault) string {
			return "the memory of " + targetList(f) + " has room again" +
				wording.Prefix("; refused writes: ", f.Measured["refused writes"])
		},
		Past: "had its memory filled",
	},
	apply: (*Nemesis).fill,
})

func evictedText(n string) string {
	switch n {
	case "", "0":
		return ""
	case "1":
		return ": 1 key is evicted"
	}
	return ": " + n + " keys are evicted"
}

// fill fills a node's memory with another user's data, and removes the data at the end. The proof is in INFO: used
// memory up to the limit, or evicted keys; and at the end, the number of writes refused for lack of memory.
func (n *Nemesis) fill(ctx context.Context, f Fault, target string) (*Active, error) {
	server, err := n.server(target)
	if err != nil {
		return nil, err
	}
	if _, err := n.Inspect(ctx, target); err != nil {
		return nil, err
	}
	before, err := readMemory(ctx, server)
	if err != nil {
		return nil, err
	}
	if err := server.Fill(ctx); err != nil {
		return nil, err
	}
	after, err := readMemory(ctx, server)
	if err != nil {
		return nil, err
	}
	measured := after.measured()
	measured["used_memory before"] = strconv.Itoa(before.used)
	measured["evicted_keys"] = strconv.Itoa(after.evicted - before.evicted)
	a := &Active{Target: target, fault: f, asked: history.Asked{MaxMemory: after.limit}}
	a.end = func(ctx context.Context) (proof, error) { return endFill(ctx, server, after) }
	n.begin(a, proof{measured: measured,
		effective: after.limit > 0 && (after.used >= after.limit || after.evicted > before.evicted)})
	_, err = n.Inspect(ctx, target) // records evicted keys as gone
	return a, err
}

// endFill removes the data again. A node that is down has lost it, or loses it at its restart.
func endFill(ctx context.Context, server cluster.Server, full memoryUsage) (proof, error) {
	left, err := readMemory(ctx, server)
	if errors.Is(err, cluster.ErrDown) {
		return proof{measured: map[string]string{"state": "down"}, effective: true}, nil
	}
	if err == nil {
		err = server.Drain(ctx)
	}
	if err != nil {
		return proof{}, err
	}
	now, err := readMemory(ctx, server)
	measured := now.measured()
	maps.Copy(measured, map[string]string{
		"refused writes": strconv.Itoa(left.refused - full.refused),
		"evicted_keys":   strconv.Itoa(left.evicted - full.evicted),
	})
	return proof{measured: measured, effective: now.used < now.limit}, err
}

// memoryUsage is a server's memory in bytes, with the counts of evicted keys and refused writes so far.
type memoryUsage struct{ used, limit, evicted, refused int }

func readMemory(ctx context.Context, server cluster.Server) (memoryUsage, error) {
	info, err := server.Info(ctx)
	if err != nil {
		return memoryUsage{}, err
	}
	var m memoryUsage
	m.evicted, _ = strconv.Atoi(info["evicted_keys"]) // 0 if it is missing
	if _, err := fmt.Sscanf(info["errorstat_OOM"], "count=%d", &m.refused); err != nil {
		m.refused = 0 // none yet
	}
	if m.used, err = strconv.Atoi(info["used_memory"]); err != nil {
		return m, fmt.Errorf("INFO of %s: used_memory: %w", server.Name(), err)
	}
	if m.limit, err = strconv.Atoi(info["maxmemory"]); err != nil {
		return m, fmt.Errorf("INFO of %s: maxmemory: %w", server.Name(), err)
	}
	return m, nil
}

func (m memoryUsage) measured() map[string]string {
	return map[string]string{"used_memory": strconv.Itoa(m.used)}
}
