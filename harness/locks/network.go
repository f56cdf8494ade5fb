package locks

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is one of a lock's servers, as one client reaches it.
type Server struct {
	// Addr is for Network.Dial. In virtual time it is no address of the machine's.
	Addr     string
	Password string // "": it asks for none
}

// Network is how a lock reaches its servers with clients that it makes itself.
type Network struct {
	// Servers are the lock's, in its order; none where Sentinels name the only one.
	Servers []Server
	// Dial connects to one of them over the client's own link, which is what
	// faults befall. It fails as a network does.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Redis makes a go-redis client of a server, with go-redis's own defaults and
	// then the options given: retries, timeouts and the pool are the lock's. The
	// harness closes it.
	Redis func(server int, options ...func(*redis.Options)) *redis.Client
	// LastSent is when a command that may take the key was last sent over a connection of Dial's, on Env.Clock. If none
	// was sent since a time, it is when one was that may change the key otherwise; 0: none was since LastSent was first
	// called for the key. The key is the word that is it, or ends in it (lock:k1). Where several end in it, and it is
	// not known which is the key, several names them.
	LastSent func(key string, since time.Duration) (at time.Duration, several []string)
	// Dialled says whether the lock has tried to connect to a server over this client's links.
	Dialled func() bool
	// Context ends with the client.
	Context context.Context
}
