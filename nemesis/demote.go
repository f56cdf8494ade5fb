package nemesis

import (
	"context"
	"fmt"
	"strings"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Demote makes a master a read-only replica.
const Demote = "demote"

var _ = declare(&Declaration{
	Kind: Demote,
	Doc: "makes the node a replica of an unreachable master (REPLICAOF), as after a failover: it answers READONLY to " +
		"writes",
	Node:     &Effect{Class: history.NodeReadOnly},
	Optional: []string{"for"},
	Words: Words{
		Noun:        "demotion of",
		Instruction: instructionFor("make %s a read-only replica (REPLICAOF)"),
		Begin:       passiveText("demoted: a read-only replica from here on"),
		End: func(f history.Fault) string {
			return targetList(f) + " " + isOrAre(f) + " a master again" +
				wording.Prefix(", after ", wording.Readable(f.Measured["lasted"]))
		},
		Past: "was made a read-only replica",
	},
	apply: (*Nemesis).demote, endsWithProcess: "lasted",
})

// An operator's commands. No server listens at that address, so the replica keeps its data. The probe is a write that
// changes nothing.
const (
	demoteCommand = "REPLICAOF 127.0.0.1 1"
	masterCommand = "REPLICAOF NO ONE"
	writeProbe    = "DEL lockproof:probe"
)

// demote makes a master a read-only replica. The proof is its replies to a write before, during and after.
func (n *Nemesis) demote(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	sent := n.countSent(target)
	before, during, err := changeRole(ctx, node, demoteCommand)
	if err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f}
	a.end = func(ctx context.Context) (proof, error) {
		affected := sent()
		still, after, err := changeRole(ctx, node, masterCommand)
		measured := map[string]string{"lasted": n.lasted(a).String(), "write before the end": still, "write": after}
		return proof{measured: measured, effective: refusesWrites(still) && !refusesWrites(after), affected: affected}, err
	}
	measured := map[string]string{"write before": before, "write": during}
	return n.begin(a, proof{measured: measured, effective: !refusesWrites(before) && refusesWrites(during)}), nil
}

// changeRole sends a command, and returns the replies to a write before and after it.
func changeRole(ctx context.Context, node cluster.Node, command string) (before, after string, err error) {
	if before, err = node.Command(ctx, writeProbe); err != nil {
		return "", "", err
	}
	reply, err := node.Command(ctx, command)
	if err == nil && reply != "+OK" {
		err = fmt.Errorf("%s of %s was answered %q", command, node.Name(), reply)
	}
	if err != nil {
		return "", "", err
	}
	after, err = node.Command(ctx, writeProbe)
	return before, after, err
}

func refusesWrites(reply string) bool { return strings.HasPrefix(reply, "-READONLY") }
