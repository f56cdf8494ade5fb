package locks

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is one of a lock's servers, with its address for one client.
type Server struct {
	// Addr is for Network.Dial. In virtual time only that can reach it.
	Addr     string
	Password string // "": none
}

// Network connects a lock's own clients to its servers.
type Network struct {
	// Servers are the lock's, in its order; none if Sentinels report the only one.
	Servers []Server
	// Dial connects to one of them over the client's own link, where faults act. Its errors are a network's.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Redis makes a go-redis client of a server with go-redis's defaults and these options: the lock chooses retries,
	// timeouts and the pool. The harness closes it.
	Redis func(server int, options ...func(*redis.Options)) *redis.Client
	// LastSent is the last time, on Env.Clock, at which a connection of Dial sent a command that may acquire the key, or
	// else, if none was sent after since, one that changes it. 0: none since the first call of LastSent for the key.
	// Words that end in the key count (lock:k1). If the key is ambiguous, several lists the candidates.
	LastSent func(key string, since time.Duration) (at time.Duration, several []string)
	// Dialled reports whether the lock has tried to connect to a server over this client's links.
	Dialled func() bool
	// Context ends with the client.
	Context context.Context
}
