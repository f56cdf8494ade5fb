package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// MigrateSlot moves the slot of a lock's key to another master of a Redis Cluster.
const MigrateSlot = "migrate-slot"

// An operator's mistakes in a migration.
const (
	slotAssignedEarly = "early"
	slotCancelled     = "cancelled"
)

// SlotMistakes lists an operator's possible mistakes in a migration.
var SlotMistakes = []string{slotAssignedEarly, slotCancelled}

var _ = declare(&Declaration{
	Kind: MigrateSlot,
	Doc: "moves the slot of the key to another master of the Redis Cluster, as redis-cli does: it is open (ASK) " +
		"until the fault ends, and then belongs to the other master",
	Node:     &Effect{Class: history.SlotMoves, Needs: cluster.AbilityServer},
	Required: []string{"to"},
	Optional: []string{"for", "key", "mistake"},
	Words: Words{
		Noun:        "slot's move from",
		Instruction: instructionFor("move the slot of the lock's key from %s to another master (CLUSTER SETSLOT, MIGRATE)"),
		Begin: func(f history.Fault) string {
			text := "the slot of " + f.Asked.Key + " on " + targetList(f) + " moves to " + f.Asked.To
			if f.Asked.Mistake == slotAssignedEarly {
				text += ", without its keys"
			}
			return text
		},
		End: func(f history.Fault) string {
			if f.Asked.Mistake == slotCancelled {
				return fmt.Sprintf("the slot stays with %s (SETSLOT STABLE), without its keys", targetList(f))
			}
			return "the slot belongs to " + f.Asked.To + " (SETSLOT NODE)"
		},
		Past: "began to migrate a slot",
	},
	apply: (*Nemesis).migrateSlot,
})

// slotMove is a migration of one key's slot.
type slotMove struct {
	nemesis  *Nemesis
	cluster  cluster.Real
	fault    Fault
	from, to cluster.Node
	token    string // of the key on from; "" without the key
}

// migrateSlot opens a slot and moves its keys; its end assigns the slot to the other master. With a mistake, the slot
// is assigned without its keys, or kept without them. The proof is the members' redirects for the key, and the
// presence of the key.
func (n *Nemesis) migrateSlot(ctx context.Context, f Fault, target string) (*Active, error) {
	members, ok := n.cluster.(cluster.Real)
	if !ok {
		return nil, &cluster.Unsupported{Cluster: n.cluster.Kind(), Needs: cluster.AbilityServer}
	}
	m := &slotMove{nemesis: n, cluster: members, fault: f}
	var err error
	if m.from, err = n.node(target); err == nil {
		m.to, err = n.node(f.To)
	}
	if err != nil {
		return nil, err
	}
	if owner, err := members.SlotOwner(ctx, f.Key); err != nil || owner != target {
		return nil, errors.Join(err, fmt.Errorf("the slot of %s belongs to %q: %s cannot move it", f.Key, owner, target))
	}
	before, err := n.Inspect(ctx, target)
	if err != nil {
		return nil, err
	}
	m.token = before.Keys[f.Key].Token
	p, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	asked := history.Asked{Key: f.Key, To: f.To, Mistake: f.Mistake}
	a := &Active{Target: target, fault: f, asked: asked, ended: m.look}
	a.end = func(ctx context.Context) (proof, error) { return m.close(ctx, a) }
	n.begin(a, p)
	return a, m.look(ctx)
}

// open opens the slot on both masters, and moves its keys.
func (m *slotMove) open(ctx context.Context) (proof, error) {
	key, from, to := m.fault.Key, m.from.Name(), m.to.Name()
	if err := m.cluster.SetSlot(ctx, to, key, "IMPORTING", from); err != nil {
		return proof{}, err
	}
	if err := m.cluster.SetSlot(ctx, from, key, "MIGRATING", to); err != nil {
		return proof{}, err
	}
	var moved []string
	var err error
	if m.fault.Mistake != slotAssignedEarly {
		if moved, err = m.cluster.MigrateKeys(ctx, key, from, to); err != nil {
			return proof{}, err
		}
	}
	answer, err := m.from.Command(ctx, "EXISTS "+key)
	sent := strings.HasPrefix(answer, "-ASK ")
	measured := map[string]string{"answer of " + from: answer, "moved": strings.Join(moved, " ")}
	return proof{measured: measured, effective: sent != (m.fault.Mistake == slotAssignedEarly && m.token != "")}, err
}

// close assigns the slot.
func (m *slotMove) close(ctx context.Context, a *Active) (proof, error) {
	since := m.nemesis.cluster.Now()
	key, from, to := m.fault.Key, m.from.Name(), m.to.Name()
	owner, state, members := m.to, "NODE", []string{to, from}
	switch m.fault.Mistake {
	case slotAssignedEarly: // the old owner refuses while it has the key, and learns of it from the new one
		members = []string{to}
	case slotCancelled:
		owner, state = m.from, "STABLE"
	}
	for _, member := range members {
		other := to
		if state == "STABLE" {
			other = ""
		}
		if err := m.cluster.SetSlot(ctx, member, key, state, other); err != nil {
			return proof{}, err
		}
	}
	if err := m.await(ctx, owner.Name()); err != nil {
		return proof{}, err
	}
	seen, err := owner.Look(ctx)
	there, affected := seen.Keys[key].Token, 0
	if m.token != "" {
		affected = 1
	}
	measured := map[string]string{"owner": owner.Name(), "lasted": m.nemesis.lasted(a).String()}
	lost := m.fault.Mistake != "" && m.token != ""
	return proof{measured: measured, effective: !lost || there != m.token, affected: &affected, since: since}, err
}

// settleLimit bounds the time until the members agree.
const settleLimit, settlePoll = 10 * time.Second, 5 * time.Millisecond

// await waits until all members redirect clients to the slot's owner.
func (m *slotMove) await(ctx context.Context, owner string) error {
	agreed, err := cluster.Poll(ctx, m.nemesis.cluster, settleLimit, settlePoll, func() (bool, error) {
		named, err := m.cluster.SlotOwner(ctx, m.fault.Key)
		return named == owner, err
	})
	if err == nil && !agreed {
		err = fmt.Errorf("the members do not agree that the slot of %s is %s's", m.fault.Key, owner)
	}
	return err
}

// look records the keys of both masters.
func (m *slotMove) look(ctx context.Context) error {
	for _, node := range []cluster.Node{m.from, m.to} {
		if _, err := m.nemesis.Inspect(ctx, node.Name()); err != nil {
			return err
		}
	}
	return nil
}
