package virtual

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/harness/cluster/link"
)

// Promote is REPLICAOF NO ONE. The settings stay unchanged: after a restart the server follows the configured master,
// as on the other clusters.
func (n *Node) Promote(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.server == nil || n.suspended():
		return n.cannot("promote")
	case !n.rep.replica():
		return fmt.Errorf("promote %s: it is a master already", n.name)
	}
	n.advance()
	r := n.rep
	r.isReplica, r.state, r.before = false, unlinked, r.position
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

// replicaOf is an operator's REPLICAOF. Its master is always unreachable, so the node keeps its keys. The settings stay
// unchanged, as with Promote.
func (n *Node) replicaOf(ctx context.Context, words []string) (reply string, err error) {
	if strings.EqualFold(strings.Join(words, " "), "NO ONE") {
		err = n.Promote(ctx)
	} else {
		err = n.demote()
	}
	if err != nil {
		return "", err
	}
	return "+OK", nil
}

// demote makes the node a replica without a master, and disconnects its own replicas.
func (n *Node) demote() error {
	n.mu.Lock()
	alone := n.rep == nil
	n.mu.Unlock()
	if alone {
		n.replicate(nil, 0, 0)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.rep
	switch {
	case n.server == nil || n.suspended():
		return n.cannot("demote")
	case r.isReplica:
		return fmt.Errorf("demote %s: it is a replica already", n.name)
	}
	n.advance()
	r.isReplica, r.state, r.needsCopy = true, unlinked, false
	for _, a := range r.replicas {
		n.drop(a.conn)
	}
	r.replicas, r.good = nil, 0
	return nil
}

// drop ends a connection from the node's side. The caller holds the lock.
func (n *Node) drop(k *conn) {
	delete(n.conns, k)
	k.Conn.Close()
}

// dialMaster connects to the master and requests the missing writes. It does not hold the node's lock while it acquires
// the master's.
func (r *replication) dialMaster() {
	n := r.node
	n.mu.Lock()
	wanted := n.server != nil && !n.suspended() && r.isReplica && r.state == connecting
	n.mu.Unlock()
	if !wanted {
		return
	}
	near, theirs := r.follows.openTo(n)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case theirs == nil:
		r.state = unlinked // until the next second
		return
	case n.server == nil || !r.isReplica: // changed in the meantime
		near.Conn.Close()
		return
	}
	r.stream, r.state, r.lastContact = near, requesting, r.seconds()
	n.conns[near] = true
	id := r.id
	if r.needsCopy {
		id = "?"
	}
	near.Write(encode([]string{"PSYNC", id, strconv.FormatInt(r.offset, 10)}))
}

// openTo makes a connection of a replica over the link to its master, and returns both ends; nil if the master is down.
func (p *path) openTo(replica *Node) (near, theirs *conn) {
	mine, out := p.pipe(0)
	in, its := p.pipe(1)
	if theirs = p.node.serve(its, true); theirs == nil {
		return nil, nil
	}
	p.Join(out, in)
	near = replica.newConn(mine)
	link.Drain(mine, near)
	return near, theirs
}

// startFollowing starts with a replica that already follows its empty master, as the other clusters do.
func (r *replication) startFollowing() {
	near, theirs := r.follows.openTo(r.node)
	master := r.follows.node
	master.mu.Lock()
	m := master.rep
	m.feeds = true
	m.replicas = append(m.replicas, &connectedReplica{conn: theirs, lastContact: m.seconds()})
	m.countGood()
	begins := m.position
	master.disk.dumped(master.now())
	master.mu.Unlock()

	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	r.stream, r.state, r.needsCopy, r.position = near, following, false, begins
	r.node.conns[near] = true
	r.node.disk.replaced(r.node.now(), map[string]record{})
}

// receive handles a message from the master.
func (r *replication) receive(args []string) {
	r.lastContact = r.seconds()
	switch args[0] {
	case fullResync:
		r.needsCopy, r.id = true, args[1]
		r.offset, _ = strconv.ParseInt(args[2], 10, 64)
		return
	case fullCopy:
		r.state, r.needsCopy = following, false
		r.replaceAll(args[1:])
		return
	case partSync:
		r.state, r.id = following, args[1]
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

// acknowledge reports the replica's offset to the master, and with an append-only file the fsynced offset, too.
func (r *replication) acknowledge() {
	words := []string{"ACK", strconv.FormatInt(r.offset, 10)}
	if r.node.disk.appends() {
		r.updateFsynced()
		words = append(words, "FACK", strconv.FormatInt(r.fsynced, 10))
	}
	r.stream.Write(encode(words))
}

func (r *replication) updateFsynced() {
	if r.node.disk.unsynced == 0 {
		r.fsynced = r.offset
	}
}

// apply applies the master's change of a key.
func (r *replication) apply(key string, rec *record) {
	n := r.node
	n.disk.write(n.now(), key, rec)
	if rec == nil {
		n.server.Del(key)
		return
	}
	n.show(key, *rec)
}

// replaceAll replaces all keys with a copy.
func (r *replication) replaceAll(copied []string) {
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

// runReplicaCron acknowledges to the master, or connects to it.
func (r *replication) runReplicaCron() {
	if r.stream != nil && r.seconds()-r.lastContact > replTimeout {
		k := r.stream
		r.node.drop(k)
		r.disconnected(k)
	}
	switch {
	case r.state == unlinked && r.follows != nil:
		r.state = connecting
		_, after := r.follows.travel.dial()
		r.dial.Set(after)
	case r.state == following:
		r.acknowledge()
	}
}

func sortedKeys(keys map[string]record) []string { return slices.Sorted(maps.Keys(keys)) }
