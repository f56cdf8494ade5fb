// Package batch lets all callers of a lock share pipelines to each Redis server:
//
//	nodes, err := server.Nodes(clients, batch.Pipelines)
//
// A command is sent at once if no other is under way. Commands that find an exchange under way wait for its end and
// share one pipeline: the busier the lock, the more commands share a write and a read. So one lock for the whole
// process is faster than one for each caller. A slow exchange must not delay later commands: after the wait they use
// another connection, so that a distant server costs them milliseconds and not the whole of its delay. While a server
// does not answer, the wait doubles with each exchange, and beyond a limit acquire attempts are refused: a hung server
// costs a bounded number of connections and goroutines at any retry rate.
package batch
