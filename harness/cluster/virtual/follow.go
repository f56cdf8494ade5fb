package virtual

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"example.org/lockproof/harness/cluster/link"
)

// Promote is REPLICAOF NO ONE. What the settings say stays: a server that is started
// again follows the master that they name, as the other clusters' servers do.
func (n *Node) Promote(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.server == nil || n.standsStill():
		return n.cannot("promote")
	case !n.rep.replica():
		return fmt.Errorf("promote %s: it is a master already", n.name)
	}
	n.advance()
	r := n.rep
	r.isReplica, r.state, r.before = false, apart, r.place
	if k := r.stream; k != nil {
		r.stream = nil
		n.drop(k)
	}
	r.rename()
	r.feeds = true // a replica keeps a backlog as well
	n.expire(n.now())
	r.countGood()
	return nil
}

// drop ends a connection from the node's side. The caller holds the lock.
func (n *Node) drop(k *conn) {
	delete(n.conns, k)
	k.Conn.Close()
}

// dialMaster makes a connection to the master and asks for what the node lacks. It does not
// hold the node's lock while it takes the master's.
func (r *replication) dialMaster() {
	n := r.node
	n.mu.Lock()
	wanted := n.server != nil && !n.standsStill() && r.isReplica && r.state == dialling
	n.mu.Unlock()
	if !wanted {
		return
	}
	near, theirs := r.follows.openTo(n)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case theirs == nil:
		r.state = apart // until the next second
		return
	case n.server == nil || !r.isReplica: // in the meantime
		near.Conn.Close()
		return
	}
	r.stream, r.state, r.heard = near, asking, r.seconds()
	n.conns[near] = true
	id := r.id
	if r.whole {
		id = "?"
	}
	near.Write(encode([]string{"PSYNC", id, strconv.FormatInt(r.offset, 10)}))
}

// openTo makes a connection of a replica over the link to its master, and gives both ends;
// none if the master is down.
func (p *path) openTo(replica *Node) (near, theirs *conn) {
	mine, out := p.pipe(0)
	in, its := p.pipe(1)
	theirs = p.node.newConn(its)
	theirs.replica = true
	if !p.node.accept(theirs) {
		return nil, nil
	}
	link.Drain(its, theirs)
	p.Join(out, in)
	near = replica.newConn(mine)
	link.Drain(mine, near)
	return near, theirs
}

// startJoined begins with a replica that follows its master already, and has a copy of its
// nothing, as the other clusters begin.
func (r *replication) startJoined() {
	near, theirs := r.follows.openTo(r.node)
	master := r.follows.node
	master.mu.Lock()
	m := master.rep
	m.feeds = true
	m.replicas = append(m.replicas, &connectedReplica{conn: theirs, online: true, heard: m.seconds()})
	m.countGood()
	begins := m.place
	master.disk.dumped(master.now())
	master.mu.Unlock()

	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	r.stream, r.state, r.whole, r.place = near, joined, false, begins
	r.node.conns[near] = true
	r.node.disk.replaced(r.node.now(), map[string]record{})
}

// receive takes what the master sends.
func (r *replication) receive(args []string) {
	r.heard = r.seconds()
	switch args[0] {
	case fullResync:
		r.state, r.whole = copying, true
		r.id = args[1]
		r.offset, _ = strconv.ParseInt(args[2], 10, 64)
		return
	case fullCopy:
		r.state, r.whole = joined, false
		r.take(args[1:])
		return
	case partSync:
		r.state, r.id = joined, args[1]
		return
	case "SET":
		rec := readRecord(args[2:])
		r.apply(args[1], &rec)
	case "DEL":
		r.apply(args[1], nil)
	case "PUBLISH":
		r.node.deliver(args[1], args[2])
	case getAck:
		r.acknowledge()
	}
	r.offset += int64(len(encode(args)))
}

// acknowledge says up to where the replica has everything, and if it has an append-only
// file, up to where it has that on its disk.
func (r *replication) acknowledge() {
	words := []string{"ACK", strconv.FormatInt(r.offset, 10)}
	if r.node.disk.appends() {
		r.keep()
		words = append(words, "FACK", strconv.FormatInt(r.kept, 10))
	}
	r.stream.Write(encode(words))
}

// keep notes up to where the replica has everything on its disk.
func (r *replication) keep() {
	if r.node.disk.unsynced == 0 {
		r.kept = r.offset
	}
}

// apply does to a key what the master did.
func (r *replication) apply(key string, rec *record) {
	n := r.node
	n.disk.write(n.now(), key, rec)
	if rec == nil {
		n.server.Del(key)
		return
	}
	n.show(key, *rec)
}

// take replaces everything with a copy.
func (r *replication) take(copied []string) {
	n := r.node
	for key := range n.disk.keys {
		n.server.Del(key)
	}
	keys := map[string]record{}
	for one := range slices.Chunk(copied, 1+recordFields) {
		keys[one[0]] = readRecord(one[1:])
		n.show(one[0], keys[one[0]])
	}
	n.disk.replaced(n.now(), keys)
}

// runReplicaCron tells the master how far the node is, or reaches for it.
func (r *replication) runReplicaCron() {
	if r.stream != nil && r.seconds()-r.heard > replTimeout {
		k := r.stream
		r.node.drop(k)
		r.lost(k)
	}
	switch {
	case r.state == apart && r.follows != nil:
		r.state = dialling
		_, after := r.follows.travel.dial()
		r.dial.Set(after)
	case r.state == joined:
		r.acknowledge()
	}
}

func sortedKeys(keys map[string]record) []string { return slices.Sorted(maps.Keys(keys)) }
