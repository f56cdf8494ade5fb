package nemesis

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Clock makes the clock of a client or a node jump, or run at another rate.
const Clock = "clock"

var _ = declare(&Declaration{
	Kind: Clock, Doc: "makes the wall clock jump, or the clock run at another rate",
	Node:     &Effect{Class: history.NodeClock, Needs: cluster.AbilityClock},
	Client:   &Effect{Class: history.ClientClock},
	Optional: []string{"jump", "rate"},
	Check:    checkClockUse,
	Draw:     &Draw{Optional: []string{"for", "jump", "rate"}},
	Knobs: []Knob{
		{Modifier: "rate", Label: "Clock rate", Min: 0.5, Max: 2, Step: 0.01},
		{Modifier: "jump", Label: "Clock jump", Min: -3, Max: 3},
	},
	Words: Words{Noun: "clock change of",
		Instruction: clockInstruction, Begin: clockBeginText, Past: "ran on a changed clock"},
	apply: (*Nemesis).clock, undo: (*Nemesis).restoreRate,
})

// checkClockUse requires a jump or a rate, and in a schedule an end of the rate.
func checkClockUse(u Use) []Misuse {
	what := "clock has neither jump nor rate"
	if u.Random {
		what = "a random " + what
	}
	var found []Misuse
	if !u.Modifiers["jump"] && !u.Modifiers["rate"] {
		found = append(found, Misuse{"", what, "add `jump: -1 ttl` or `rate: 0.8`"})
	}
	switch {
	case u.Random && u.Modifiers["for"] && !u.Modifiers["rate"]:
		found = append(found, Misuse{"for", "`for` has no meaning for a jump, which has no end",
			"remove it, or add a rate, which ends after that time"})
	case u.Random && !u.Modifiers["for"] && u.Modifiers["rate"]:
		found = append(found, Misuse{"rate", "the clock's rate has no end", "add a duration, for example `for: 2 ttl`"})
	}
	return found
}

func clockInstruction(o Instruction) string {
	var parts []string
	switch {
	case o.Jump != "" && o.Backward:
		parts = append(parts, "jump back by "+o.Jump)
	case o.Jump != "":
		parts = append(parts, "jump forward by "+o.Jump)
	}
	if o.Rate != 0 {
		parts = append(parts, "run at "+strconv.FormatFloat(o.Rate, 'g', -1, 64)+" times the true rate")
	}
	return "let the clock of " + o.Targets + " " + strings.Join(parts, " and ")
}

func clockBeginText(f history.Fault) string {
	clocks := "the clock of " + targetList(f)
	if len(f.Targets) > 1 {
		clocks = "the clocks of " + targetList(f)
	}
	var parts []string
	if f.Asked.Jump != 0 {
		way, jump := " forward by ", cmp.Or(f.Measured["jump"], f.Asked.Jump.String())
		if f.Asked.Jump < 0 {
			way, jump = " back by ", strings.TrimPrefix(jump, "-")
		}
		parts = append(parts, "jump"+verbEnding(f)+way+wording.Readable(jump))
	}
	if f.Asked.Rate != 0 && (f.Asked.Rate != 1 || len(parts) == 0) {
		rate := cmp.Or(f.Measured["rate"], formatRate(f.Asked.Rate))
		parts = append(parts, "run"+verbEnding(f)+" at "+rate+" times the true rate")
	}
	if len(parts) == 0 {
		return targetList(f) + ": the clock is set"
	}
	return clocks + " " + wording.List(parts)
}

// clock makes a clock jump, or run at another rate. The proof is the clock's own reading.
func (n *Nemesis) clock(ctx context.Context, f Fault, target string) (*Active, error) {
	read := func(ctx context.Context) (Reading, error) { return n.readClock(ctx, target) }
	before, err := read(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.setClock(ctx, target, f.Jump, f.Rate); err != nil {
		return nil, err
	}
	after, err := read(ctx)
	if err != nil {
		return nil, err
	}
	asked, measured, effective := history.Asked{Jump: history.Duration(f.Jump)}, map[string]string{}, true
	if f.Jump != 0 {
		jump := time.Duration((after.Wall - before.Wall) - (after.True - before.True))
		measured["jump"] = jump.String()
		effective = (jump - f.Jump).Abs() <= jumpSlack
	}
	if f.Rate != 0 {
		rate, err := n.measureRate(ctx, read, after, rateDifference(f.Rate, before.Rate))
		if err != nil {
			return nil, err
		}
		asked.Rate, measured["rate"] = roundRate(f.Rate), formatRate(rate)
		effective = effective && rateMatches(rate, f.Rate, before.Rate)
	}
	n.recordInstant(f, target, asked, proof{measured: measured, effective: effective})
	if !n.clientNames[target] { // a client reports its clocks by itself
		after.Rate = cmp.Or(f.Rate, before.Rate)
		n.noteClock(target, after)
	}
	return nil, nil
}

// restoreRate restores the true rate after a drawn fault. A jump stays.
func (n *Nemesis) restoreRate(ctx context.Context, f Fault) error {
	if f.Rate == 0 {
		return nil
	}
	_, err := n.Apply(ctx, Fault{Kind: Clock, Targets: f.Targets, Rate: 1})
	return err
}
