package checker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"example.org/lockproof/harness/history"
)

// ProtectedData is the name of a property.
const ProtectedData = "protected-data"

var _ = declare(Property{
	Name:    ProtectedData,
	Meaning: "at the store that the lock guards, no acknowledged update is lost and no stale write is accepted",
	Place:   2, Writes: 2,
	Brief: func(Violation, string) string { return "an update is lost" },
	judge: func(r *record) (Result, error) { return (&protectedData{r}).judge() },
})

// protectedData: at the store that the lock guards, no acknowledged update is lost and no stale write is accepted. An
// update is lost if another write that was not derived from it replaces it (Kleppmann 2016, "Protecting a resource with
// a lock"). A write is stale if the store had accepted a newer fencing token before the write arrived, or before it was
// invoked if no link shows the arrival ("Making the lock safe with fencing"). Two oracles judge each key's chain of
// versions: a walk along it, and porcupine. If they disagree, there is no verdict at all.
type protectedData struct{ *record }

func (p *protectedData) judge() (Result, error) {
	keys, err := p.registers()
	if err != nil {
		return Result{}, err
	}
	var violations []Violation
	measured := map[string]int64{"writes": int64(p.counts.writes), "rejected": int64(p.counts.rejected)}
	unknown := ""
	for _, k := range keys {
		accesses, open := p.accesses(k)
		clashes, answer := chain(accesses), p.second.register(accesses)
		if err := compareOracles(ProtectedData, k.name, len(clashes) > 0, answer); err != nil {
			return Result{}, err
		}
		if answer == porcupine.Unknown {
			unknown = fmt.Sprintf("porcupine did not finish with key %q at the store", k.name)
		}
		for _, w := range open {
			if p.harms(w, accesses) {
				unknown = fmt.Sprintf("%s's write %s of %q had no reply, and the store may have accepted it", w.client, w.value,
					k.name)
			}
		}
		for _, c := range clashes {
			violations = append(violations, p.clashViolation(k.name, c))
		}
		for _, s := range stale(accesses) {
			violations = append(violations, p.staleViolation(k.name, s))
		}
	}
	result := newResult(ProtectedData, violations, measured)
	if result.Verdict == history.Holds && unknown != "" {
		result.Undecide(Unknown, "%s", unknown)
	}
	return result, nil
}

// harms reports whether a write, if it was accepted, would lose an update, or would be stale at a store that does not
// reject stale writes.
func (p *protectedData) harms(w access, others []access) bool {
	with := append(slices.Clip(others), w)
	if len(stale(with)) > 0 {
		return !p.header.FencedStore
	}
	return len(chain(with)) > 0
}

// registers returns the keys whose register at the store was used, sorted. The error names the first write that stores
// no new version.
func (p *protectedData) registers() ([]*keyed, error) {
	var keys []*keyed
	var wrong *operation
	for _, k := range p.byName {
		if len(k.storeOps) == 0 {
			continue
		}
		keys = append(keys, k)
		if o := k.duplicateVersion(); o != nil && (wrong == nil || o.call < wrong.call) {
			wrong = o
		}
	}
	if wrong != nil {
		return nil, eventError(wrong.call, "%s writes %s to %q, which is no new version: each write needs a value of its own",
			wrong.process, VersionName(wrong.value), wrong.key)
	}
	slices.SortFunc(keys, byName)
	return keys, nil
}

func keysOf[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// stale finds the writes that were accepted although the store had accepted a newer token before they arrived. The
// pairs are (newer, stale).
func stale(accesses []access) (found []contradiction) {
	uses := make([]tokenUse[access], len(accesses))
	for i, a := range accesses {
		uses[i] = tokenUse[access]{a.call, a.accepted, a.op.fence, a}
	}
	for _, pair := range outdated(uses) {
		if pair.old.source.write {
			found = append(found, contradiction{early: pair.newest.source, late: pair.old.source})
		}
	}
	return found
}

func (p *protectedData) clashViolation(key string, c contradiction) Violation {
	return Violation{
		Key: key, From: min(c.early.call, c.late.call), Until: max(c.early.ret, c.late.ret),
		Processes: slices.Compact([]string{c.early.client, c.late.client}),
		What:      c.describe(),
		facts:     func() []Fact { return p.writeFacts(c) },
	}
}

func (c contradiction) describe() string {
	switch c.kind {
	case lostUpdate:
		return fmt.Sprintf("%s's update %s, acknowledged at %s, is lost: %s overwrote it with %s at %s, and both updates "+
			"were derived from %s", c.early.client, c.early.value, formatTime(c.early.acknowledgedAt()), c.late.client,
			c.late.value, formatTime(c.late.ret), VersionName(c.late.base))
	case unknownVersion:
		return fmt.Sprintf("%s found %s in the store at %s, which no write can have stored",
			c.late.client, VersionName(c.late.from()), formatTime(c.late.ret))
	}
	if c.late.write {
		return fmt.Sprintf("%s's write %s replaced %s by %s, although %s began to %s only at %s",
			c.late.client, c.late.value, VersionName(c.late.base), formatTime(c.late.ret), c.early.client, c.early.verb(),
			formatTime(c.early.call))
	}
	return fmt.Sprintf("%s read %s by %s, although %s began to %s only at %s",
		c.late.client, VersionName(c.late.value), formatTime(c.late.ret), c.early.client, c.early.verb(),
		formatTime(c.early.call))
}

// acknowledgedAt is when the client learned of its write's success, or else when the write ended.
func (a access) acknowledgedAt() int64 {
	if a.op.ok() {
		return a.op.done
	}
	return a.ret
}

func (a access) verb() string {
	if a.write {
		return "write " + a.value
	}
	return "read " + VersionName(a.value)
}

func (p *protectedData) staleViolation(key string, c contradiction) Violation {
	return Violation{
		Key: key, From: c.late.call, Until: c.late.ret, Processes: []string{c.late.client, c.early.client},
		What: fmt.Sprintf("the store accepted %s's write %s with fencing token %d at %s, although %s had used token %d by %s",
			c.late.client, c.late.value, c.late.op.fence, formatTime(c.late.ret), c.early.client, c.early.op.fence,
			formatTime(c.early.ret)),
		facts: func() []Fact { return p.writeFacts(c) },
	}
}
