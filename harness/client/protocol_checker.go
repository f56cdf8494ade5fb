package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/input"
)

// maxMessages bounds one client's messages in a trial.
const maxMessages = 500_000

// maxNameLength bounds the name of another program's lock, in bytes.
const maxNameLength = 60

// ProtocolChecker checks an external worker's messages against its commands and the protocol. It is safe for
// concurrent use.
type ProtocolChecker struct {
	name string
	now  func() int64 // the true clock

	mu       sync.Mutex
	messages int
	hello    *locks.Abilities
	commands map[int]*sentCommand // by serial
	queue    []*sentCommand       // queued commands that have not ended
	ops      map[int]*operation
	leases   map[int]string // keys by the ID of the acquire
	lost     map[int]bool   // leases with a lost event
	watches  bool           // a watch command was sent
	latest   int64          // the time of its latest event of an operation
	stalled  int64          // the end of its latest stall
}

// sentCommand is a command to the worker.
type sentCommand struct {
	Command
	at     int64
	ended  bool
	op     *operation // of the command, once it has begun
	clocks int        // readings so far, for a clock command
}

// operation is an operation that the worker reported.
type operation struct {
	history.Event              // its invoke
	outcome       history.Type // "" while it is pending
}

// NewProtocolChecker checks the client of that setup. now is the true clock.
func NewProtocolChecker(setup Setup, now func() int64) *ProtocolChecker {
	return &ProtocolChecker{
		name: setup.Name, now: now, commands: map[int]*sentCommand{}, ops: map[int]*operation{}, leases: map[int]string{},
		lost: map[int]bool{},
	}
}

// OnCommand records a command before it is sent.
func (c *ProtocolChecker) OnCommand(cmd Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order := &sentCommand{Command: cmd, at: c.now()}
	c.commands[cmd.Serial] = order
	if !cmd.Do.immediate() {
		c.queue = append(c.queue, order)
	}
	c.watches = c.watches || cmd.Do == DoWatch
}

// Parse parses and checks one line from the worker.
func (c *ProtocolChecker) Parse(line []byte) (Message, error) {
	received := c.now()
	var m Message
	if !utf8.Valid(line) {
		return m, errors.New("which is not a message: it is not UTF-8")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return m, errors.New("which is not a message: standard output has JSON objects alone, and all else goes to " +
			"standard error")
	}
	if err := input.JSONLine(line, &m, "message"); err != nil {
		return m, fmt.Errorf("which is not a message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages++; c.messages > maxMessages {
		return m, fmt.Errorf("which is more than %d messages in one trial", maxMessages)
	}
	if err := checkSingleField(m); err != nil {
		return m, err
	}
	switch {
	case m.Done == 0 && m.Error != "":
		return m, nil
	case c.hello == nil:
		return m, c.checkHello(m.Lock)
	case m.Lock != nil:
		return m, errors.New("though its hello comes once, as its first message")
	case m.Event != nil:
		return m, c.checkEvent(line, *m.Event, received)
	}
	return m, c.done(m)
}

func checkSingleField(m Message) error {
	fields := 0
	for _, set := range []bool{m.Event != nil, m.Lock != nil, m.Done != 0 || m.Error != "",
		m.Starved != nil} {
		if set {
			fields++
		}
	}
	if fields != 1 {
		return errors.New(`though a message is one of {"event":...}, {"done":...}, {"lock":...} and {"error":...}`)
	}
	if m.Outcome != "" && m.Done == 0 {
		return errors.New("though an outcome comes with done")
	}
	return nil
}

func (c *ProtocolChecker) checkHello(lock *locks.Abilities) error {
	if lock == nil {
		return errors.New(`but its first message must be its hello: {"lock":{...}}`)
	}
	if i := strings.IndexFunc(lock.Name, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 ||
		len(lock.Name) > maxNameLength {
		return fmt.Errorf("though a lock's name is up to %d printable bytes", maxNameLength)
	}
	for _, name := range lock.Keys {
		if strings.Count(name, locks.KeyPlaceholder) != 1 {
			return fmt.Errorf("though each of a lock's keys is named with %s in the key's place, as in \"lock:%[1]s\"",
				locks.KeyPlaceholder)
		}
	}
	has := map[locks.Feature]bool{
		locks.FeatureExtend: lock.Extends, locks.FeatureWatch: lock.Watches, locks.FeatureFence: lock.Fencing,
		locks.FeatureClock:   lock.OwnClock,
		locks.FeatureThreads: lock.Threads,
	}
	for what := range lock.Unsupported {
		if !slices.Contains(locks.Features, what) {
			return fmt.Errorf("though there is no %q to lack: there are %q", what, locks.Features)
		}
		if has[what] {
			return fmt.Errorf("which says of %s both that the lock has it and that it lacks it", what)
		}
	}
	c.hello = lock
	return nil
}

// Hello is the worker's description of its lock, nil before it arrives.
func (c *ProtocolChecker) Hello() *locks.Abilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// done checks the end of a command.
func (c *ProtocolChecker) done(m Message) error {
	order := c.commands[m.Done]
	switch {
	case order == nil:
		return fmt.Errorf("though no command has the serial %d: %s", m.Done, c.pendingText())
	case order.ended:
		return fmt.Errorf("though it has said so of command %d, %s, before", m.Done, order.Do)
	}
	queued := slices.Contains(c.queue, order)
	if first := c.first(order.Thread); queued && first != order && m.Error == "" {
		return fmt.Errorf("though command %d, %s, comes first: they queue up", first.Serial, first.Do)
	}
	order.ended = true
	if queued {
		c.queue = slices.DeleteFunc(c.queue, func(o *sentCommand) bool { return o == order })
	}
	if m.Error != "" {
		return nil // the command was impossible
	}
	return order.checkEnd(m.Outcome)
}

// checkEnd checks a command's outcome against its operation.
func (t *sentCommand) checkEnd(outcome history.Type) error {
	op, is := operationOf[t.Do]
	switch {
	case t.IfHeld && t.op == nil && outcome == "":
		return nil // no lease was held
	case !is && outcome != "":
		return fmt.Errorf("though %s is no operation and has no outcome", t.Do)
	case is && t.op == nil:
		return fmt.Errorf("though no %s has begun: its invoke and its outcome come before", op)
	case is && t.op.outcome == "":
		return fmt.Errorf("though its %s, %d, has no outcome yet", op, t.op.ID)
	case is && t.op.outcome != outcome:
		return fmt.Errorf("though its %s, %d, was %s", op, t.op.ID, t.op.outcome)
	case t.Do == DoClock && t.clocks < 2:
		return errors.New("though a clock event for each of its two clocks comes before")
	}
	return nil
}

var operationOf = map[Do]history.Op{
	DoAcquire: history.OpAcquire, DoExtend: history.OpExtend, DoRelease: history.OpRelease,
	DoCheck: history.OpCheck, DoRead: history.OpRead, DoWrite: history.OpWrite,
}

func (c *ProtocolChecker) pendingText() string {
	var all []string
	for serial, order := range c.commands {
		if !order.ended {
			all = append(all, fmt.Sprintf("%d (%s)", serial, order.Do))
		}
	}
	if len(all) == 0 {
		return "none is under way"
	}
	slices.Sort(all)
	return "under way: " + strings.Join(all, ", ")
}

func (c *ProtocolChecker) checkEvent(line []byte, e history.Event, received int64) error {
	switch {
	case e.Process != c.name:
		return fmt.Errorf("though its process is %q", c.name)
	case e.Time > received:
		return fmt.Errorf("whose time is %s ahead of the true clock: times are nanoseconds of CLOCK_MONOTONIC since "+
			"the epoch",
			time.Duration(e.Time-received))
	case e.Header != nil || e.Command != nil || e.Fault != nil || e.Node != nil || e.Text != "":
		return errors.New("with what is not a client's to tell")
	}
	if e.Time < 0 {
		return errors.New("whose time is before the run began: times are nanoseconds of CLOCK_MONOTONIC since the epoch")
	}
	if err := history.Validate(&e); err != nil {
		return fmt.Errorf("which is not an event: %w", err)
	}
	switch e.Type {
	case history.TypeStall:
		if e.Time-e.Late < c.stalled {
			return errors.New("though no stall overlaps the one before")
		}
		c.stalled = e.Time
		return nil
	case history.TypeClock:
		return c.countClockReading()
	case history.TypeLost:
		if c.lost[e.Lease] {
			return fmt.Errorf("though it has said before that lease %d is lost", e.Lease)
		}
		c.lost[e.Lease] = true
		return c.checkLease(e.Lease)
	case history.TypeInvoke, history.TypeOK, history.TypeFail, history.TypeInfo:
	default:
		return fmt.Errorf("though a client's events are invoke, ok, fail, info, lost, clock and stall, not %q", e.Type)
	}
	if e.Time < c.latest {
		return fmt.Errorf("whose time is %s before that of its last event", time.Duration(c.latest-e.Time))
	}
	c.latest = e.Time
	if e.Type == history.TypeInvoke {
		return c.checkInvoke(e)
	}
	return c.checkOutcome(line, e)
}

func (c *ProtocolChecker) checkLease(lease int) error {
	if _, known := c.leases[lease]; !known {
		return fmt.Errorf("though it has had no lease %d", lease)
	}
	return nil
}

// countClockReading counts a clock event for its command.
func (c *ProtocolChecker) countClockReading() error {
	for _, order := range c.commands {
		if order.Do == DoClock && !order.ended && order.clocks < 2 {
			order.clocks++
			return nil
		}
	}
	return errors.New("though no clock command is under way")
}

// checkInvoke checks the beginning of an operation and finds its command.
func (c *ProtocolChecker) checkInvoke(e history.Event) error {
	if c.ops[e.ID] != nil {
		return fmt.Errorf("though operation %d has begun before", e.ID)
	}
	if e.Lease != 0 {
		if err := c.checkLease(e.Lease); err != nil {
			return err
		}
	}
	op := &operation{Event: e}
	c.ops[e.ID] = op
	var fits *sentCommand // prefers the thread's command for this key
	for _, order := range c.queue {
		switch {
		case c.first(order.Thread) != order:
		case order.Do == DoLoop && fits == nil:
			return nil
		case operationOf[order.Do] == e.Op && order.op == nil &&
			(fits == nil || fits.Key != e.Key && order.Key == e.Key):
			fits = order
		}
	}
	if fits != nil {
		fits.op = op
		return fits.checkBegin(e)
	}
	if e.Op == history.OpExtend && (c.watches || c.hello.Watches) {
		return nil
	}
	return fmt.Errorf("though no command for %s waits for its turn: %s", e.Op, c.pendingText())
}

// first is a thread's current command, nil if it has none.
func (c *ProtocolChecker) first(thread string) *sentCommand {
	if i := slices.IndexFunc(c.queue, func(o *sentCommand) bool { return o.Thread == thread }); i >= 0 {
		return c.queue[i]
	}
	return nil
}

// checkBegin checks an operation against its command.
func (t *sentCommand) checkBegin(e history.Event) error {
	switch {
	case e.Time < t.at:
		return fmt.Errorf("whose time is %s before its command was given", time.Duration(t.at-e.Time))
	case t.Key != "" && e.Key != t.Key:
		return fmt.Errorf("though command %d is about %s", t.Serial, t.Key)
	}
	return nil
}

// reasons are the valid reasons of an operation.
var reasons = []string{"", history.ReasonHeld, history.ReasonNoMajority, history.ReasonTooLate, history.ReasonLost,
	history.ReasonExtensionLimit, history.ReasonCancelled, history.ReasonRefused, history.ReasonStale,
	history.ReasonExpired, history.ReasonOther}

func (c *ProtocolChecker) checkOutcome(line []byte, e history.Event) error {
	op := c.ops[e.ID]
	switch {
	case op == nil:
		return fmt.Errorf("though no operation %d has begun", e.ID)
	case op.outcome != "":
		return fmt.Errorf("though operation %d has had its outcome: %s", e.ID, op.outcome)
	case op.Op != e.Op || op.Key != e.Key:
		return fmt.Errorf("though operation %d began as %s of %s", e.ID, op.Op, op.Key)
	case op.Value != "" && (e.Value != "" && e.Value != op.Value || e.Base != "" && e.Base != op.Base):
		return fmt.Errorf("though operation %d began as a write of %q in the place of %q", e.ID, op.Value, op.Base)
	case !slices.Contains(reasons, e.Reason):
		return fmt.Errorf("though there is no reason %q: there are %s", e.Reason, strings.Join(reasons[1:], ", "))
	}
	op.outcome = e.Type
	if e.Type != history.TypeOK || e.Op != history.OpAcquire && e.Op != history.OpExtend {
		return nil
	}
	if e.Op == history.OpAcquire {
		if e.Lease != e.ID {
			return fmt.Errorf("though the lease that an acquire begins has its id, %d", e.ID)
		}
		c.leases[e.ID] = e.Key
	}
	var says struct {
		Event struct {
			Validity *int64 `json:"validity"`
		} `json:"event"`
	}
	if err := json.Unmarshal(line, &says); err != nil || says.Event.Validity == nil || *says.Event.Validity < 0 {
		return errors.New("without a validity: for how many nanoseconds the client believes in the lease, 0 if not any more")
	}
	if c.hello.Fencing && e.Fence < 1 {
		return errors.New("without a fence, which its hello promised")
	}
	return nil
}
