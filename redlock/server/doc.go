// Package server has the node of package redlock on a Redis server, 7.0 or later, or Valkey:
//
//	nodes, err := server.Nodes(clients)
//	lock, err := redlock.New(nodes, redlock.Options{})
//
// Clients are of independent masters, one for each. For a lock, their options should have ContextTimeoutEnabled true
// (or a call to a hung server lasts for ReadTimeout, whatever the context says) and MaxRetries -1 (or a repeated
// release whose first reply was lost finds nothing to delete). The lock is safe with the defaults too: it only takes
// longer to clean up.
//
// What makes nodes faster or safer is a [Decorator], in packages of their own: batch, native, guard and redlockotel.
package server
