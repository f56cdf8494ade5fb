// Package server implements the node of package redlock on a Redis server, 7.0 or later, or Valkey:
//
//	nodes, err := server.Nodes(clients)
//	lock, err := redlock.New(nodes, redlock.Options{})
//
// Pass one client for each independent master. For a lock, its options should have ContextTimeoutEnabled true (or a
// call to a hung server lasts for ReadTimeout, whatever the context's deadline), MaxRetries -1 (or a repeated release
// whose first reply was lost finds nothing to delete) and DialerRetries 1 (or a server that refuses connections looks
// like one that hangs: the node timeout ends before the last dial). The lock is safe with the defaults too, but cleans
// up later.
//
// A [Decorator] makes nodes faster or safer: packages batch, native, guard and redlockotel have one each.
package server
