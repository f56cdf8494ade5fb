package nemesis

import (
	"context"
	"errors"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Rewrite is a long BGREWRITEAOF.
const Rewrite = "rewrite"

var _ = declare(&Declaration{
	Kind: Rewrite, Doc: "a BGREWRITEAOF of that duration",
	Node:     &Effect{Class: history.NodeDisk, Needs: cluster.AbilityServer},
	Required: []string{"for"},
	Words: Words{
		Instruction: instructionFor("rewrite the append-only file of %s (BGREWRITEAOF)"),
		Begin: func(f history.Fault) string {
			return targetList(f) + " begin" + verbEnding(f) + " to rewrite the append-only file"
		},
		End: targetText("%s's rewrite of the append-only file is over"),
	},
	apply: (*Nemesis).rewrite, endsWithProcess: "lasted",
})

// rewrite keeps a rewrite of a node's append-only file in progress. The proof is in INFO. It ends by itself, or with
// the server at the end of the run.
func (n *Nemesis) rewrite(ctx context.Context, f Fault, target string) (*Active, error) {
	server, err := n.server(target)
	if err != nil {
		return nil, err
	}
	if err := server.Rewrite(ctx, f.Duration); err != nil {
		return nil, err
	}
	begun, err := rewriteFlag(ctx, server)
	if err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f, asked: history.Asked{Lasts: history.Duration(f.Duration)}}
	a.end = func(ctx context.Context) (proof, error) {
		measured := map[string]string{"lasted": n.lasted(a).String()}
		going, err := rewriteFlag(ctx, server)
		if errors.Is(err, cluster.ErrDown) {
			measured["state"], err = "down", nil
		} else {
			measured["aof_rewrite_in_progress"] = going
		}
		return proof{measured: measured, effective: true}, err
	}
	return n.begin(a, proof{measured: map[string]string{"aof_rewrite_in_progress": begun}, effective: begun == "1"}), nil
}

// rewriteFlag is "1" while a rewrite is in progress, else "0".
func rewriteFlag(ctx context.Context, server cluster.Server) (string, error) {
	info, err := server.Info(ctx)
	return info["aof_rewrite_in_progress"], err
}
