package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"lockproof/harness/cluster"
)

// passOn opens the ports of the members of a Redis Cluster, from first on. The bus is not
// Redis's protocol, and no link.
func (r *runLinks) passOn(want Run, first int) error {
	for i, name := range want.Members {
		if r.servers[name] == nil {
			return fmt.Errorf("the member %q: there is no such server in this run", name)
		}
		for k, way := range []string{ToMember, ToBus} {
			if err := r.listen(Path{way, name}, first+PortsOfAMember*i+k, r.pass); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass leads a connection to a member, and ends with either side of it, or with the run.
func (r *runLinks) pass(p Path, from net.Conn) {
	defer from.Close()
	s := r.servers[p.Server]
	dial := s.dial
	if p.Client == ToBus {
		dial = s.dialBus
	}
	to, err := dial()
	if err != nil {
		return
	}
	defer to.Close()
	defer context.AfterFunc(r.life, func() {
		from.Close()
		to.Close()
	})()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0]) // however it ends
			from.Close()
			to.Close()
		})
	}
	both.Wait()
}

// dialBus reaches the port of the server's bus.
func (s *server) dialBus() (net.Conn, error) {
	s.mu.Lock()
	address, here := s.address, s.here
	s.mu.Unlock()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cluster.ErrDown
	}
	d := net.Dialer{Timeout: dialWithin}
	return d.DialContext(here, "tcp", net.JoinHostPort(host, strconv.Itoa(BusPort)))
}
