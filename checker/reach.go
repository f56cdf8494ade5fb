package checker

import "lockproof/harness/history"

// reach tells what lay between the clients and the nodes.
type reach struct {
	*setup
	faults
}

func (r *record) reach() reach { return reach{&r.setup, r.faults} }

// unhealthy gives the stretches for which a client had no good way to a node:
// the node was not healthy, or the link between them was hindered.
func (r reach) unhealthy(client, node string) []span {
	link := client + "-" + node
	return r.stretches(fault.possible, func(f fault) bool {
		return f.target == node && f.class.SickNode() ||
			f.target == link && f.class.HindersLink() && !far(f)
	})
}

// far reports whether a fault is a distance that belongs to the scenario's
// setting: a node that is far away is slow to answer, but healthy.
func far(f fault) bool { return f.class == history.LinkSlow && f.cause.Setting }

// unreachable gives the stretches for which a client could not reach a healthy
// majority, because too many nodes were unhealthy or because it was itself
// stopped.
func (r reach) unreachable(client string) []span {
	var nodes [][]span
	for _, node := range r.header.Nodes {
		nodes = append(nodes, r.unhealthy(client, node))
	}
	own := r.stretches(fault.possible, func(f fault) bool { return f.target == client && f.class.StopsClient() })
	return union(append(covered(r.blocking(), nodes), own...))
}
