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
	commands []*sentCommand
	ops      map[int]*operation // by ID
	watches  bool               // a watch command was sent, or the lock renews its key by itself
	latest   int64              // the time of its latest event of an operation
	stalled  int64              // the end of its latest stall
}

// sentCommand is a command to the worker.
type sentCommand struct {
	Command
	at     int64
	ended  bool
	op     *operation // of the command, once it has begun
	clocks int        // readings so far, for a clock command
}

func (t *sentCommand) String() string { return fmt.Sprintf("%d (%s)", t.Serial, t.Do) }

// operation is an operation that the worker reported.
type operation struct {
	history.Event              // its invoke
	outcome       history.Type // "" while it is pending
	lost          bool         // of an acquire: its lease has a lost event
}

func (o *operation) String() string { return fmt.Sprintf("its %s, id %d,", o.Op, o.ID) }

// NewProtocolChecker checks the client of that setup. now is the true clock.
func NewProtocolChecker(setup Setup, now func() int64) *ProtocolChecker {
	return &ProtocolChecker{name: setup.Name, now: now, ops: map[int]*operation{}, watches: setup.Renews}
}

// OnCommand records a command before it is sent.
func (c *ProtocolChecker) OnCommand(cmd Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append(c.commands, &sentCommand{Command: cmd, at: c.now()})
	c.watches = c.watches || cmd.Do == DoWatch
}

// Parse parses and checks one line from the worker.
func (c *ProtocolChecker) Parse(line []byte) (Message, error) {
	received := c.now()
	var m Message
	if !utf8.Valid(line) {
		return m, errors.New("not a message: it is not UTF-8")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return m, errors.New("not a message: want one JSON object a line on standard output, and all other output on " +
			"standard error")
	}
	if err := input.JSONLine(line, &m, "message"); err != nil {
		return m, fmt.Errorf("not a message: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages++; c.messages > maxMessages {
		return m, fmt.Errorf("more than %d messages in one trial", maxMessages)
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
		return m, errors.New("the hello comes once, as the first message")
	case m.Event != nil:
		return m, c.checkEvent(line, m.Event, received)
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
		return errors.New(`want one of {"event":...}, {"done":...}, {"lock":...} and {"error":...}`)
	}
	if m.Outcome != "" && m.Done == 0 {
		return errors.New(`"outcome" without "done"`)
	}
	return nil
}

func (c *ProtocolChecker) checkHello(lock *locks.Abilities) error {
	if lock == nil {
		return errors.New(`the first message must be the hello, {"lock":{...}}`)
	}
	if i := strings.IndexFunc(lock.Name, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 ||
		len(lock.Name) > maxNameLength {
		return fmt.Errorf(`"name" must have at most %d printable bytes`, maxNameLength)
	}
	if lock.Servers != 0 || lock.Renews || len(lock.Notices) > 0 {
		return errors.New(`"servers", "renews" and "notices" are not for a hello: run --nodes sets the number of servers, ` +
			`and renewals are observed`)
	}
	for _, name := range lock.Keys {
		if strings.Count(name, locks.KeyPlaceholder) != 1 {
			return fmt.Errorf(`"keys": each name must contain %s once, for the caller's key, as in "lock:%[1]s"`,
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
			return fmt.Errorf(`"lacks": unknown feature %q: want some of %q`, what, locks.Features)
		}
		if has[what] {
			return fmt.Errorf(`"lacks" contains %q, but the hello also says that the lock has it`, what)
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
	i := slices.IndexFunc(c.commands, func(t *sentCommand) bool { return t.Serial == m.Done })
	if i < 0 {
		return fmt.Errorf("no command has the serial %d; %s", m.Done, c.pendingText())
	}
	cmd := c.commands[i]
	if cmd.ended {
		return fmt.Errorf("command %s has ended already", cmd)
	}
	if m.Error != "" { // the command was impossible
		cmd.ended = true
		return nil
	}
	if first := c.first(cmd.Thread); !cmd.Do.immediate() && first != cmd {
		return fmt.Errorf("command %s is before it in the queue and has not ended", first)
	}
	cmd.ended = true
	return cmd.checkEnd(m.Outcome)
}

// checkEnd checks a command's outcome against its operation.
func (t *sentCommand) checkEnd(outcome history.Type) error {
	op := t.Do.Operation()
	switch {
	case t.IfHeld && t.op == nil && outcome == "":
		return nil // no lease was held
	case op == "" && outcome != "":
		return fmt.Errorf("%s is not an operation, so it has no outcome", t.Do)
	case op != "" && t.op == nil:
		return fmt.Errorf("no %s has begun: send its invoke event and its outcome event first", op)
	case op != "" && t.op.outcome == "":
		return fmt.Errorf("%s has not ended: send its outcome event first", t.op)
	case op != "" && t.op.outcome != outcome:
		return fmt.Errorf(`"outcome" is %q, but %s ended with %q`, outcome, t.op, t.op.outcome)
	case t.Do == DoClock && t.clocks < 2:
		return errors.New("send a clock event for each of the two clocks first")
	}
	return nil
}

func (c *ProtocolChecker) pendingText() string {
	var pending []string
	for _, cmd := range c.commands {
		if !cmd.ended {
			pending = append(pending, cmd.String())
		}
	}
	if len(pending) == 0 {
		return "no command is pending"
	}
	return "pending: " + strings.Join(pending, ", ")
}

// timeUnit explains a wrong time.
const timeUnit = `: "time" must be the nanoseconds of CLOCK_MONOTONIC since the setup's "epoch"`

func (c *ProtocolChecker) checkEvent(line []byte, e *history.Event, received int64) error {
	switch {
	case e.Process != c.name:
		return fmt.Errorf(`"process" must be %q`, c.name)
	case e.Time > received:
		return fmt.Errorf("the time is %s ahead of the true clock"+timeUnit, time.Duration(e.Time-received))
	case e.Header != nil || e.Command != nil || e.Fault != nil || e.Node != nil || e.Text != "":
		return errors.New(`"header", "command", "fault", "node" and "text" are not for events of a client`)
	case e.Time < 0:
		return errors.New("the time is before the start of the run" + timeUnit)
	}
	if err := history.Validate(e); err != nil {
		return fmt.Errorf("not an event: %w", err)
	}
	switch e.Type {
	case history.TypeStall:
		if e.Time-e.Late < c.stalled {
			return errors.New("the stall overlaps the one before it")
		}
		c.stalled = e.Time
		return nil
	case history.TypeClock:
		return c.countClockReading()
	case history.TypeLost:
		granted, err := c.lease(e.Lease)
		if err == nil && granted.lost {
			err = fmt.Errorf("lease %d has a lost event already", e.Lease)
		}
		if err == nil {
			granted.lost = true
		}
		return err
	case history.TypeInvoke, history.TypeOK, history.TypeFail, history.TypeInfo:
	default:
		return fmt.Errorf("a client's events are invoke, ok, fail, info, lost, clock and stall, not %q", e.Type)
	}
	if e.Time < c.latest {
		return fmt.Errorf("the time is %s before that of the latest event", time.Duration(c.latest-e.Time))
	}
	c.latest = e.Time
	if e.Type == history.TypeInvoke {
		return c.checkInvoke(*e)
	}
	return c.checkOutcome(line, e)
}

// lease is the acquire of a lease.
func (c *ProtocolChecker) lease(id int) (*operation, error) {
	if op := c.ops[id]; op != nil && op.Op == history.OpAcquire && op.outcome == history.TypeOK {
		return op, nil
	}
	return nil, fmt.Errorf("there is no lease %d", id)
}

// countClockReading counts a clock event for its command.
func (c *ProtocolChecker) countClockReading() error {
	for _, cmd := range c.commands {
		if cmd.Do == DoClock && !cmd.ended && cmd.clocks < 2 {
			cmd.clocks++
			return nil
		}
	}
	return errors.New("no clock command is pending")
}

// checkInvoke checks the beginning of an operation and finds its command.
func (c *ProtocolChecker) checkInvoke(e history.Event) error {
	if c.ops[e.ID] != nil {
		return fmt.Errorf("operation %d has begun already: each operation has an id of its own", e.ID)
	}
	if e.Lease != 0 || !slices.Contains([]history.Op{history.OpAcquire, history.OpRead}, e.Op) {
		granted, err := c.lease(e.Lease)
		switch {
		case err != nil:
			return fmt.Errorf(`"lease" must be the id of the acquire that was granted the lease: %w`, err)
		case granted.Key != e.Key:
			return fmt.Errorf(`"key" is %q, but lease %d is on %q`, e.Key, e.Lease, granted.Key)
		}
	}
	op := &operation{Event: e}
	c.ops[e.ID] = op
	var fits *sentCommand // prefers the thread's command for this key
	for _, cmd := range c.commands {
		switch {
		case cmd.ended || c.first(cmd.Thread) != cmd:
		case cmd.Do == DoLoop && fits == nil:
			return nil
		case cmd.Do.Operation() == e.Op && cmd.op == nil &&
			(fits == nil || fits.Key != e.Key && cmd.Key == e.Key):
			fits = cmd
		}
	}
	if fits != nil {
		fits.op = op
		return fits.checkBegin(e)
	}
	if e.Op == history.OpExtend && (c.watches || c.hello.Watches) {
		return nil
	}
	return fmt.Errorf("no command for %s is next in its queue; %s", e.Op, c.pendingText())
}

// first is a thread's current command, nil if it has none.
func (c *ProtocolChecker) first(thread string) *sentCommand {
	for _, cmd := range c.commands {
		if !cmd.ended && cmd.Thread == thread && !cmd.Do.immediate() {
			return cmd
		}
	}
	return nil
}

// checkBegin checks an operation against its command.
func (t *sentCommand) checkBegin(e history.Event) error {
	switch {
	case e.Time < t.at:
		return fmt.Errorf("the time is %s before the command was sent"+timeUnit, time.Duration(t.at-e.Time))
	case t.Key != "" && e.Key != t.Key:
		return fmt.Errorf(`"key" is %q, but that of command %s is %q`, e.Key, t, t.Key)
	}
	return nil
}

// reasons are the valid reasons of an operation.
var reasons = []string{"", history.ReasonHeld, history.ReasonNoMajority, history.ReasonTooLate, history.ReasonLost,
	history.ReasonExtensionLimit, history.ReasonCancelled, history.ReasonRefused, history.ReasonStale,
	history.ReasonExpired, history.ReasonOther}

func (c *ProtocolChecker) checkOutcome(line []byte, e *history.Event) error {
	op := c.ops[e.ID]
	switch {
	case op == nil:
		return fmt.Errorf("operation %d has not begun: send its invoke event first", e.ID)
	case op.outcome != "":
		return fmt.Errorf("operation %d has ended already with %q", e.ID, op.outcome)
	case op.Op != e.Op || op.Key != e.Key:
		return fmt.Errorf("operation %d began as %s of the key %q", e.ID, op.Op, op.Key)
	case op.Value != "" && (e.Value != "" && e.Value != op.Value || e.Base != "" && e.Base != op.Base):
		return fmt.Errorf("operation %d began as a write of %q derived from %q", e.ID, op.Value, op.Base)
	case e.Op != history.OpAcquire && e.Lease != op.Lease:
		return fmt.Errorf(`"lease" is %d, but operation %d began with %d`, e.Lease, e.ID, op.Lease)
	case !slices.Contains(reasons, e.Reason):
		return fmt.Errorf("unknown reason %q: want one of %s", e.Reason, strings.Join(reasons[1:], ", "))
	}
	op.outcome = e.Type
	if e.Op == history.OpWrite { // the outcome may leave out what its invoke had
		e.Value, e.Base = op.Value, op.Base
	}
	if e.Type != history.TypeOK || e.Op != history.OpAcquire && e.Op != history.OpExtend {
		return nil
	}
	if e.Op == history.OpAcquire && e.Lease != e.ID {
		return fmt.Errorf(`"lease" must be %d: a lease has the id of its acquire`, e.ID)
	}
	var says struct {
		Event struct {
			Validity *int64 `json:"validity"`
		} `json:"event"`
	}
	if err := json.Unmarshal(line, &says); err != nil || says.Event.Validity == nil || *says.Event.Validity < 0 {
		return errors.New(`"validity" is missing or negative: want the nanoseconds for which the client relies on the ` +
			`lease, 0 if it is over`)
	}
	if c.hello.Fencing && e.Fence < 1 {
		return errors.New(`"fence" is missing, but the hello says that the lock issues fencing tokens`)
	}
	return nil
}
