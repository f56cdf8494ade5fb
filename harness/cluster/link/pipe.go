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

// Pipe makes the two ends of a connection in memory. Unlike net.Pipe it buffers, as a socket does: a write never waits
// for the reader. An end reports whether the other has closed, which go-redis checks before it reuses a pooled
// connection. Timeouts are events of the scheduler, ordered by key.
func Pipe(s *scheduler.Scheduler, key scheduler.Key) (net.Conn, net.Conn) {
	a, b := newHalf(s, key), newHalf(s, key)
	return &pipe{in: a, out: b}, &pipe{in: b, out: a}
}

// half is one direction of a pipe.
type half struct {
	mu     sync.Mutex
	buf    []byte
	closed bool
	change chan struct{} // signals a change

	scheduler *scheduler.Scheduler
	key       scheduler.Key
	sink      Sink // receives writes instead of a reader; nil: they are buffered
}

// Sink receives a stream instead of a reader, in the goroutine that writes.
type Sink interface {
	Feed(data []byte) // must not keep the data
	Close()           // called once, by an event of its own, as the closing goroutine may hold locks
}

// Drain passes all past and future data at an end of a Pipe to a sink. No reader may use that end afterwards.
func Drain(end net.Conn, to Sink) { end.(*pipe).in.drain(to) }

func newHalf(s *scheduler.Scheduler, key scheduler.Key) *half {
	return &half{change: make(chan struct{}, 1), scheduler: s, key: key}
}

func (h *half) signal() {
	select {
	case h.change <- struct{}{}:
	default:
	}
}

func (h *half) close() {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	to := h.sink
	h.mu.Unlock()
	h.signal()
	if first && to != nil {
		h.scheduler.After(0, h.key, to.Close)
	}
}

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
		h.signal()
	}
	h.mu.Unlock()
	switch {
	case closed:
		return io.ErrClosedPipe
	case to != nil: // outside the lock, as it may close the half
		to.Feed(b)
	}
	return nil
}

// idle returns an error if a pooled connection must not be reused: its other end has closed, or unread data wait.
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
	rings    time.Time // the alarm's last set time
}

// Read waits for data, the other end's close, or the deadline. Data wins over an expired deadline, so that a resumed
// process reads the data that arrived while it was stopped.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		if n, err := p.tryRead(b); n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		if p.late() {
			return 0, os.ErrDeadlineExceeded
		}
		<-p.in.change
		p.mu.Lock()
		p.reading = false
		p.mu.Unlock()
	}
}

// late reports whether the deadline has passed. If not, a read may wait: the alarm wakes it at the deadline or earlier,
// and it checks again. A new timer for each read, which hardly ever fires, cost more than the read.
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
			p.alarm, p.rings = p.in.scheduler.After(left, key, p.in.signal), p.deadline
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
			p.in.signal() // for the next reader
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

// Close ends both directions; data already written can still be read.
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
		p.in.signal()
	}
	return nil
}

func (p *pipe) SetDeadline(t time.Time) error    { return p.SetReadDeadline(t) }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }
func (p *pipe) LocalAddr() net.Addr              { return memory{} }
func (p *pipe) RemoteAddr() net.Addr             { return memory{} }

// SyscallConn is go-redis's check of a pooled connection. Without a socket, the pipe answers itself.
func (p *pipe) SyscallConn() (syscall.RawConn, error) {
	if err := p.in.idle(); err != nil {
		return nil, err
	}
	return alive{}, nil
}

// alive is the raw connection of an open pipe without data to read.
type alive struct{}

func (alive) Control(func(uintptr)) error    { return nil }
func (alive) Read(func(uintptr) bool) error  { return nil }
func (alive) Write(func(uintptr) bool) error { return nil }

type memory struct{}

func (memory) Network() string { return "mem" }
func (memory) String() string  { return "mem" }
