package checker

import (
	"fmt"
	"slices"
	"sync"

	"lockproof/harness/history"
)

// NodeTimeout is the rule that blames name where a node was waited for.
const NodeTimeout = "NodeTimeout"

// The assumptions that a violation can blame: what a lock on several nodes
// cannot check and takes on trust.
const (
	NodesRemember   = "nodes remember"
	ClocksAgree     = "clocks run at nearly one rate"
	HolderStops     = "the holder stops in time"
	NothingRemoves  = "nothing removes keys"
	NothingEvicts   = "nothing evicts keys"
	SameNodes       = "every client uses the same nodes"
	KeysExpire      = "every key has an expiry"
	ReleaseArrives  = "a release reaches every node"
	MajorityHealthy = "a healthy majority is in reach"
	OneCounter      = "fencing tokens come from one counter"
	ReplicasHaveAll = "a promoted replica has every acknowledged write"
	OneMaster       = "there is one master at a time"
	AnswersInTime   = "answers come before the lock gives up on them"
	ContextHeeded   = "the lock heeds its caller's context"
	Unexplained     = "not shown by this history"
)

// blamer explains violations: it names the first event that made one inevitable, and
// the rule or assumption that broke. It may be asked from several goroutines.
type blamer struct {
	*record
	mu       sync.Mutex
	blames   []*Blame
	deleting sync.Once
	deleted  []deletion
	looking  sync.Once
	servers  map[string]identity // by node
	failure  error               // of going through the history again

	exchanging sync.Once
	exchanged  []exchange
}

// blame makes a blame of the event at an index; locate says when that was.
func (b *blamer) blame(event int, broke, format string, args ...any) *Blame {
	why := fmt.Sprintf(format, args...)
	if b.off(broke) {
		why += "; the rule " + broke + " was switched off"
	}
	blame := &Blame{Event: event, Events: []int{event}, Broke: broke, Why: why}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blames = append(b.blames, blame)
	return blame
}

// restingOn names further events that a blame rests on.
func (b *Blame) restingOn(events ...int) *Blame {
	for _, event := range events {
		if event >= 0 && !slices.Contains(b.Events, event) {
			b.Events = append(b.Events, event)
		}
	}
	slices.Sort(b.Events)
	return b
}

// forOverlap explains two leases held at once.
func (b *blamer) forOverlap(o overlap) *Blame { return (&overlapBlame{b, o}).explain() }

// forLoss explains why a node let go of a lease's key while its client believed.
func (b *blamer) forLoss(l Lease, lost *holding) *Blame { return (&lossBlame{b, l, lost}).explain() }

// forWrite explains a lost update or a stale write.
func (b *blamer) forWrite(c clash) *Blame { return (&writeBlame{b, c}).explain() }

// forWait explains a lock that stood free while a client waited.
func (b *blamer) forWait(w asking, free span) *Blame {
	if w.anew { // what happened in its pauses is not what kept it from the lock
		return b.blame(int(w.first.call), Unexplained, "the history does not show why acquires of %s failed, one after another", b.name(w.client))
	}
	return (&waitBlame{b, w.last, free}).explain()
}

// forUnavailable explains a lock that was not granted although it should have been.
func (b *blamer) forUnavailable(w asking, clear span) *Blame { return b.forWait(w, clear) }

// forLateRelease explains a release that did not return although it should have.
func (b *blamer) forLateRelease(s releasing, clear span) *Blame {
	return (&waitBlame{b, &operation{process: s.client, key: s.key, call: s.call, asked: s.from}, clear}).explainRelease()
}

// forUnheeded explains an acquire that went on after its caller had given up.
func (b *blamer) forUnheeded(o *operation, by cancel, after span) *Blame {
	return (&cancelBlame{b, o, by, after}).explain()
}

// forOrphan explains a key that nobody's lease needs any more.
func (b *blamer) forOrphan(left *holding) *Blame { return (&orphanBlame{b, left}).explain() }

// forNoExpiry explains a key without an expiry by its SET, if that was seen.
func (b *blamer) forNoExpiry(node, key string, look int) *Blame {
	for _, h := range slices.Backward(b.of(key).tenures) {
		if b.name(h.node) == node {
			orphan := *h
			orphan.expires = never
			return b.forOrphan(&orphan)
		}
	}
	return b.blame(look, KeysExpire, "the key on %s has no expiry", node)
}

// forToken explains tokens that do not grow: a node lost its counter, or else
// the lock draws them from where not every earlier one is known.
func (b *blamer) forToken(before, o *operation) *Blame {
	for _, f := range b.faults {
		lost := f.class == history.NodeDown || f.class == history.NodeForgets
		if lost && slices.Contains(b.header.Nodes, f.target) && f.from >= before.asked && f.from <= o.done {
			return b.blame(f.event, NodesRemember, "%s, and with it went the counter that tokens come from", f.describe())
		}
	}
	return b.blame(int(o.end), OneCounter, "what %s drew its token from had not seen token %d", b.name(o.process), before.fence)
}

// forTenure explains a lease kept for too long: the extension with which the
// bound was passed.
func (b *blamer) forTenure(l Lease, both span) *Blame {
	source := b.basis(l, both.from+b.header.Bounds.Tenure)
	return b.blame(int(source.end), "BoundedExtensions",
		"%s went on extending its lease, last at %s when the bound was passed", l.Client, at(source.done))
}

// fail keeps an error of reading the history again.
func (b *blamer) fail(err error) {
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failure = err
	}
}

// locate fills in when and to whom the events happened that are blamed: of most
// events nothing but the index has been kept.
func (b *blamer) locate() error {
	blames := b.blames
	slices.SortFunc(blames, func(a, b *Blame) int { return a.Event - b.Event })
	return b.visit(func(i int, e *history.Event) bool {
		for len(blames) > 0 && blames[0].Event == i {
			blames[0].Time, blames[0].Process = e.Time, e.Process
			if e.Type == history.TypeFault && len(e.Fault.Targets) > 0 {
				blames[0].Process = e.Fault.Targets[0]
			}
			blames = blames[1:]
		}
		return len(blames) > 0
	})
}

// deletion is a command that deletes a key, as it reached a node or was
// answered there.
type deletion struct {
	link, token string
	time        int64
	event       int
	answered    bool
}

// deletions collects all deletions, which only few blames need.
func (b *blamer) deletions() []deletion {
	b.deleting.Do(func() { b.fail(b.readDeletions()) })
	return b.deleted
}

func (b *blamer) readDeletions() error {
	return b.visit(func(i int, e *history.Event) bool {
		if (e.Type == history.TypeCommand || e.Type == history.TypeReply) && e.Command != nil && e.Command.Effect == history.EffectDelete {
			b.deleted = append(b.deleted, deletion{e.Process, e.Command.Token, e.Time, i, e.Type == history.TypeReply})
		}
		return true
	})
}
