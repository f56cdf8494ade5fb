package nemesis

import (
	"context"
	"errors"
	"strconv"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Starve blocks the event loop of a client's timers.
const Starve = "starve"

var _ = declare(&Declaration{
	Kind: Starve,
	Doc: "blocks the lock's timers, as a busy event loop does: renewals and retries are late, and the client's work " +
		"continues",
	Client:   &Effect{Class: history.ClientStarved},
	Required: []string{"for"},
	Draw:     &Draw{Required: []string{"for"}},
	Words: Words{
		Noun:        "late timers of",
		Instruction: instructionFor("block the timers of the lock in %s while its work goes on"),
		Begin:       targetText("the timers of %s are blocked: its work goes on, and renewals are late"),
		End:         starveEndText, Past: "had late timers",
	},
	apply: (*Nemesis).starve, endsWithProcess: "lasted",
})

func starveEndText(f history.Fault) string {
	text := "the timers of " + targetList(f) + " run again"
	if f.Measured["timers late"] == "0" {
		return text + "; none was late"
	}
	return text + wording.Prefix(", the latest of them late by ", wording.Readable(f.Measured["late by"]))
}

// starve makes the timers of a client's lock late. The proof is a timer that was due at the begin and fired after the
// end.
func (n *Nemesis) starve(ctx context.Context, f Fault, target string) (*Active, error) {
	if len(n.paused(target)) > 0 {
		return nil, errors.New("paused: it cannot be starved")
	}
	if err := n.clients.Starve(ctx, target); err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f}
	a.end = func(ctx context.Context) (proof, error) {
		lasted := n.lasted(a)
		late, err := n.clients.Feed(ctx, target)
		measured := map[string]string{"lasted": lasted.String(), "timers late": strconv.Itoa(late.Timers)}
		if late.Timers > 0 {
			measured["late by"] = late.Latest.String()
		}
		return proof{measured: measured, effective: late.Probe >= lasted, affected: &late.Timers}, err
	}
	return n.begin(a, proof{effective: true}), nil
}
