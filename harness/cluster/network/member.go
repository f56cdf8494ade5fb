package network

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
)

// passOn opens the ports of the members of a Redis Cluster. The bus is not Redis's protocol,
// and no link.
func (n *Network) passOn(members map[string]int, listen func() (net.Listener, error)) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		s := n.servers[name]
		if s == nil {
			return fmt.Errorf("the member %q: there is no such server in this run", name)
		}
		for way, port := range map[string]int{ToMember: 0, ToBus: members[name]} {
			lead := func(_ Path, from net.Conn) { n.pass(from, func() (net.Conn, error) { return s.dialPort(port) }) }
			if err := n.listen(Path{way, name}, listen, lead); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass leads a connection to a member, and ends with either side of it, or with the network.
func (n *Network) pass(from net.Conn, dial func() (net.Conn, error)) {
	defer from.Close()
	to, err := dial()
	if err != nil {
		return
	}
	defer to.Close()
	defer context.AfterFunc(n.life, func() {
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
