package nemesis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// Clock sets the clock of a client or a node wrong: it jumps, or runs at another
// rate.
const Clock = "clock"

var _ = declare(&Declaration{
	Kind: Clock, Doc: "lets the wall clock jump, or the clock run at another rate",
	Node:     &Effect{Class: history.NodeClock, Needs: "node-clock"},
	Client:   &Effect{Class: history.ClientClock, Needs: "client-clock"},
	Optional: []string{"jump", "rate"},
	Check:    wrongClock,
	Draw:     &Draw{Optional: []string{"for", "jump", "rate"}},
	Knobs: []Knob{
		{Modifier: "rate", Label: "Clock rate", Least: 0.5, Most: 2, Step: 0.01},
		{Modifier: "jump", Label: "Clock jump", Least: -3, Most: 3},
	},
	Met: "not counted: the checker looks for an operation or a lease of the client, or a key on the node, at the moment of a jump, " +
		"or while it ran wrong",
	Words: Words{ToDo: setClockText, Begun: clockSetText, Was: "had its clock set"},
	apply: (*Nemesis).clock, undo: (*Nemesis).trueRate,
})

// wrongClock finds a clock that goes wrong in no way, or in a schedule for ever.
func wrongClock(u Use) []Misuse {
	what := "clock has neither jump nor rate"
	if u.Drawn {
		what = "a random " + what
	}
	var found []Misuse
	if !u.Given["jump"] && !u.Given["rate"] {
		found = append(found, Misuse{"", what, "say how it goes wrong: `jump: -1 ttl` or `rate: 0.8`"})
	}
	switch {
	case u.Drawn && u.Given["for"] && !u.Given["rate"]:
		found = append(found, Misuse{"for", "a jump has no end, so that `for` has no meaning",
			"leave it out, or give a rate, which then ends"})
	case u.Drawn && !u.Given["for"] && u.Given["rate"]:
		found = append(found, Misuse{"rate", "the clock's rate has no end", "say for how long it runs wrong, as in `for: 2 ttl`"})
	}
	return found
}

func setClockText(o Order) string {
	var parts []string
	switch {
	case o.Jump != "" && o.Back:
		parts = append(parts, "jump back by "+o.Jump)
	case o.Jump != "":
		parts = append(parts, "jump forward by "+o.Jump)
	}
	if o.Rate != 0 {
		parts = append(parts, "run at "+strconv.FormatFloat(o.Rate, 'g', -1, 64)+" times the true rate")
	}
	return "let the clock of " + o.Who + " " + strings.Join(parts, " and ")
}

func clockSetText(f history.Fault) string {
	clocks := "the clock of " + who(f)
	if len(f.Targets) > 1 {
		clocks = "the clocks of " + who(f)
	}
	q := f.Measured
	if len(q) == 0 {
		q = f.Asked
	}
	var parts []string
	if jump := q["jump"]; strings.HasPrefix(jump, "-") {
		parts = append(parts, "jump"+s(f)+" back by "+wording.Readable(jump[1:]))
	} else if jump != "" {
		parts = append(parts, "jump"+s(f)+" forward by "+wording.Readable(jump))
	}
	if rate := q["rate"]; rate != "" && (rate != "1" || len(parts) == 0) {
		parts = append(parts, "run"+s(f)+" at "+rate+" times the true rate")
	}
	if len(parts) == 0 {
		return who(f) + ": the clock is set"
	}
	return clocks + " " + wording.List(parts)
}

// clock lets the clock of a client or a node jump, or run at another rate. The
// proof is what the clock itself reads.
func (n *Nemesis) clock(ctx context.Context, f Fault, target string) (*Active, error) {
	read, set, err := n.clockOf(target)
	if err != nil {
		return nil, err
	}
	before, err := read(ctx)
	if err != nil {
		return nil, err
	}
	if err := set(ctx, f.Jump, f.Rate); err != nil {
		return nil, err
	}
	after, err := read(ctx)
	if err != nil {
		return nil, err
	}
	asked, measured, effective := map[string]string{}, map[string]string{}, true
	if f.Jump != 0 {
		jump := time.Duration((after.Wall - before.Wall) - (after.True - before.True))
		asked["jump"], measured["jump"] = f.Jump.String(), jump.String()
		effective = (jump - f.Jump).Abs() <= jumpSlack
	}
	if f.Rate != 0 {
		rate, err := n.measureRate(ctx, read, after, tellable(f.Rate, before.Rate))
		if err != nil {
			return nil, err
		}
		asked["rate"], measured["rate"] = decimal(f.Rate), decimal(rate)
		effective = effective && near(rate, f.Rate, before.Rate)
	}
	n.instant(f, target, asked, proof{measured: measured, effective: effective})
	if !n.names[target] { // a client reports its clocks by itself
		n.noteClock(target, after)
	}
	return nil, nil
}

// trueRate lets the clocks of a drawn fault run right again. A jump stays.
func (n *Nemesis) trueRate(ctx context.Context, f Fault) error {
	if f.Rate == 0 {
		return nil
	}
	_, err := n.Apply(ctx, Fault{Kind: Clock, Targets: f.Targets, Rate: 1})
	return err
}
