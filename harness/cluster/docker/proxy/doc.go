// Package proxy is the network of a compose project, and what its servers' clocks
// and disks are reached through. Its server runs in a container of the project,
// beside the Redis servers, and carries all traffic of the clients over package
// link's links: toxiproxy with our toxics. It also reaches the servers' volumes.
// The client tells it over HTTP what to do, and follows what passes.
package proxy
