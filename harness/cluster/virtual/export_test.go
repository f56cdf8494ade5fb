package virtual

import (
	"context"
	"net"
)

// Dial gives what connects a client to nodes over its links.
func Dial(c *Cluster, client string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dialer(client)
}
