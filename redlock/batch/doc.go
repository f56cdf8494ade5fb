// Package batch lets all callers of a lock share the way to each Redis server:
//
//	nodes, err := server.Nodes(clients, batch.Pipelines)
//
// A command that finds no other under way goes at once, by itself. Those that find an exchange under way wait for its
// end and go together, in one pipeline: the busier the lock, the more commands share a write and a read. So one lock
// for all of a process is faster than one for each caller. An exchange that lasts must not hold up what comes later:
// after the wait, those who wait go beside it, on another connection. So a server that is far away costs them
// milliseconds and not the whole of its delay. If nothing is answered, the wait doubles with each exchange, and from
// some number of attempts on they are refused: a server that hangs costs a bounded number of connections and
// goroutines, however often callers try.
package batch
