package client

import "example.org/lockproof/harness/cluster/virtual/scheduler"

// What a client does at one instant it does in this order, also when it goes on after a
// pause: a process that carries on reads what has come in for it before its timers run out.
const (
	orderThreads = iota
	orderControl
	orderConnections
	orderTimers
)

// key places what a client does among what else happens at the same instant; number tells
// apart what is of one kind.
func (s Setup) key(kind, number int) scheduler.Key {
	return scheduler.Key{Class: scheduler.Client, A: s.Index, B: kind, C: number}
}
