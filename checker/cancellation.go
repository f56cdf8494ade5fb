package checker

import (
	"fmt"
	"sort"

	"example.org/lockproof/harness/history"
)

// Cancellation is the name of a property.
const Cancellation = "cancellation"

var _ = declare(Property{
	Name:    Cancellation,
	Meaning: "an operation that its caller has cancelled returns within a stated bound",
	Place:   6,
	Timed:   true,
	Brief:   func(_ Violation, length string) string { return "cancelled but did not return: " + length },
	judge:   func(r *record) (Result, error) { return (&cancellation{r}).judge(), nil },
})

// cancellation: after its caller cancels, an acquire, extension or release returns within Bounds.Cancel, whatever its
// outcome. It needs no node's reply for that, so no fault on a node or a link excuses a late return. Only a stop of the
// client does: the whole bound begins again when it ends.
//
// A cancel counts only during an operation. It shows nothing if the operation has not returned by the end of the
// history and the bound has not passed.
type cancellation struct{ *record }

func (c *cancellation) judge() Result {
	var violations []Violation
	measured := map[string]int64{"cancelled": 0}
	bound := c.header.Bounds.Cancel
	byClient := map[string][]moment{}
	for _, by := range c.cancels {
		byClient[by.process] = append(byClient[by.process], by)
	}
	for _, o := range c.operations.kept {
		by, cancelled := firstOf(byClient[o.process], o)
		if !cancelled || !o.asksNodes() {
			continue
		}
		after := longest(span{by.time, o.done}.without(c.stopped(o.process)))
		switch {
		case bound > 0 && after.length() > bound:
			violations = append(violations, c.violation(o, by, after))
		case o.outcome == underWay:
			continue
		}
		measured["cancelled"]++
		measured["longest_return"] = max(measured["longest_return"], after.length())
	}
	result := newResult(Cancellation, violations, measured)
	switch {
	case result.Verdict != history.Holds:
	case bound <= 0:
		result.Undecide(Vacuous, "the history sets no bound for a cancelled operation")
	case measured["cancelled"] == 0:
		result.Undecide(Vacuous, "no operation was under way when its caller cancelled")
	}
	return result
}

// firstOf returns the first of a client's cancels that came during one of its operations.
func firstOf(cancels []moment, o *operation) (moment, bool) {
	i := sort.Search(len(cancels), func(i int) bool { return cancels[i].event > int(o.call) })
	if i == len(cancels) {
		return moment{}, false
	}
	by := cancels[i]
	return by, by.event < int(o.end) || o.outcome == underWay
}

func (c *cancellation) violation(o *operation, by moment, after span) Violation {
	ending := fmt.Sprintf("the %s returned at %s", o.op, formatTime(o.done))
	if o.outcome == underWay {
		ending = fmt.Sprintf("the %s had not returned at %s", o.op, formatTime(o.done))
	}
	return Violation{
		Key: o.key, From: after.from, Until: after.until, Processes: []string{o.process},
		What: fmt.Sprintf("%s began to %s %q at %s, and its caller cancelled at %s; %s, %s later (limit %s)",
			o.process, o.op, o.key, formatTime(o.invoked), formatTime(by.time), ending, formatDuration(after.length()),
			formatDuration(c.header.Bounds.Cancel)),
		facts: func() []Fact { return c.waitFacts(o.process, o.key, after) },
	}
}
