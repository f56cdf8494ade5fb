package proxy

import (
	"context"
	"sync"

	"lockproof/harness/history"
)

// log keeps a run's events for those who follow them.
type log struct {
	mu     sync.Mutex
	events []history.Event
	closed bool
	news   chan struct{} // closed, and made anew, when something has changed
}

func newLog() *log { return &log{news: make(chan struct{})} }

func (l *log) add(e history.Event) {
	l.change(func() { l.events = append(l.events, e) })
}

// close says that there will be no more.
func (l *log) close() {
	l.change(func() { l.closed = true })
}

func (l *log) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.news)
	l.news = make(chan struct{})
}

func (l *log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// after waits for events beyond the first n, and gives them. more says whether
// there can be others yet.
func (l *log) after(ctx context.Context, n int) (events []history.Event, more bool) {
	for {
		l.mu.Lock()
		events, closed, news := l.events[n:], l.closed, l.news
		l.mu.Unlock()
		if len(events) > 0 || closed {
			return events, !closed
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, false
		}
	}
}
