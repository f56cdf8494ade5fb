package link

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// Pipe makes the two ends of a connection in memory. Unlike net.Pipe it
// buffers, as a socket does: a write never waits for the reader. And its ends
// can be asked whether the other has gone, as go-redis asks a socket before it
// takes it from its pool. What it does by itself, such as a timeout, it does by events
// of the scheduler's, which have the key's place.
func Pipe(s *scheduler.Scheduler, key scheduler.Key) (net.Conn, net.Conn) {
	a, b := newHalf(s, key), newHalf(s, key)
	return &pipe{in: a, out: b}, &pipe{in: b, out: a}
}

// half is one direction of a pipe.
type half struct {
	mu     sync.Mutex
	buf    []byte
	closed bool
	news   chan struct{} // something about the half has changed

	scheduler *scheduler.Scheduler
	key       scheduler.Key
	sink      Sink // takes what is written, which nobody reads then; nil: it is buffered
}

// Sink takes a stream in the place of a reader, in the goroutine that writes.
type Sink interface {
	Feed(data []byte) // it does not keep the data
	Close()           // called once, by an event of its own: whoever closes may hold locks
}

// Drain hands a sink what has come to an end of a Pipe, and what comes. Nobody reads there
// any more.
func Drain(end net.Conn, to Sink) { end.(*pipe).in.drain(to) }

func newHalf(s *scheduler.Scheduler, key scheduler.Key) *half {
	return &half{news: make(chan struct{}, 1), scheduler: s, key: key}
}

func (h *half) tell() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *half) close() {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	to := h.sink
	h.mu.Unlock()
	h.tell()
	if first && to != nil {
		h.scheduler.After(0, h.key, to.Close)
	}
}

// drain hands what is there, and what comes, to a sink.
func (h *half) drain(to Sink) {
	h.mu.Lock()
	data, closed := h.buf, h.closed
	h.buf, h.sink = nil, to
	h.mu.Unlock()
	if len(data) > 0 {
		to.Feed(data)
	}
	if closed {
		to.Close()
	}
}

func (h *half) write(b []byte) error {
	h.mu.Lock()
	to, closed := h.sink, h.closed
	if to == nil && !closed {
		h.buf = append(h.buf, b...)
		h.tell()
	}
	h.mu.Unlock()
	switch {
	case closed:
		return io.ErrClosedPipe
	case to != nil: // which may close the half
		to.Feed(b)
	}
	return nil
}

// idle says why nothing may be asked over a connection that is read from here: its other
// end has gone, or something has come that nobody has asked for.
func (h *half) idle() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.buf) > 0:
		return io.ErrUnexpectedEOF
	case h.closed:
		return io.EOF
	}
	return nil
}

// pipe is one end.
type pipe struct {
	in, out *half

	mu       sync.Mutex
	deadline time.Time // for reads; writes do not wait
	reading  bool      // a read waits, or is about to
	alarm    *scheduler.Timer
	rings    time.Time // when the alarm does, or did
}

// Read waits for data, the other end's close, or the deadline. Data wins over
// a deadline that has passed, so that a process that was stopped and carried
// on reads what has arrived in the meantime.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		if n, err := p.tryRead(b); n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		if p.late() {
			return 0, os.ErrDeadlineExceeded
		}
		<-p.in.news
		p.mu.Lock()
		p.reading = false
		p.mu.Unlock()
	}
}

// late reports whether the deadline has passed. If not, a read may wait: the alarm rings
// at the deadline or before it, and the read looks again. A timer for each read, which
// hardly ever runs out, cost more than the read.
func (p *pipe) late() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.deadline.IsZero() {
		now := time.Now()
		left := p.deadline.Sub(now)
		switch {
		case left <= 0:
			return true
		case p.alarm == nil:
			key := p.in.key
			key.Class = scheduler.Deadline
			p.alarm, p.rings = p.in.scheduler.After(left, key, p.in.tell), p.deadline
		case !p.rings.After(now) || p.deadline.Before(p.rings):
			p.alarm.Set(left)
			p.rings = p.deadline
		}
	}
	p.reading = true
	return false
}

func (p *pipe) tryRead(b []byte) (int, error) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if len(p.in.buf) == 0 {
		if p.in.closed {
			p.in.tell() // for the next reader
			return 0, io.EOF
		}
		return 0, nil
	}
	n := copy(b, p.in.buf)
	p.in.buf = p.in.buf[n:]
	return n, nil
}

func (p *pipe) Write(b []byte) (int, error) {
	if err := p.out.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends both directions; what is already written can still be read.
func (p *pipe) Close() error {
	p.mu.Lock()
	if p.alarm != nil {
		p.alarm.Stop()
	}
	p.mu.Unlock()
	p.in.close()
	p.out.close()
	return nil
}

func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	p.deadline = t
	waits := p.reading
	p.mu.Unlock()
	if waits {
		p.in.tell()
	}
	return nil
}

func (p *pipe) SetDeadline(t time.Time) error    { return p.SetReadDeadline(t) }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }
func (p *pipe) LocalAddr() net.Addr              { return memory{} }
func (p *pipe) RemoteAddr() net.Addr             { return memory{} }

// SyscallConn is where go-redis looks whether a pooled connection is still
// alive. There is no socket to look at, so the pipe answers by itself.
func (p *pipe) SyscallConn() (syscall.RawConn, error) {
	if err := p.in.idle(); err != nil {
		return nil, err
	}
	return alive{}, nil
}

// alive is the raw connection of a pipe that has not been closed: nothing to
// read, nothing wrong.
type alive struct{}

func (alive) Control(func(uintptr)) error    { return nil }
func (alive) Read(func(uintptr) bool) error  { return nil }
func (alive) Write(func(uintptr) bool) error { return nil }

type memory struct{}

func (memory) Network() string { return "mem" }
func (memory) String() string  { return "mem" }
