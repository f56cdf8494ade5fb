package virtual

import (
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/cluster"
)

// A node answers what miniredis answers, but for what it says here, and why. PF, X and GEO begin the names of families.
// Subscriptions are a connection's: pubSub has them.
const (
	neverWait  = "whose nodes never wait"
	keepsNot   = "whose nodes keep strings, hashes, lists, sets and sorted sets, and expire whole keys"
	zeroOnly   = "whose nodes have database 0 only"
	asNoServer = "whose miniredis answers it otherwise than servers do"
	notHere    = "whose nodes are not all that a server is"
)

// unmodelled says of each such command why.
var unmodelled = map[string]string{
	"BLPOP": neverWait, "BRPOP": neverWait, "BRPOPLPUSH": neverWait, "BLMOVE": neverWait, "BZMPOP": neverWait,
	"BZPOPMAX": neverWait, "BZPOPMIN": neverWait, "WAIT": neverWait, waitAOF: neverWait,
	// miniredis lets a field that is set or made anew keep its old time to live.
	"HEXPIRE": keepsNot, "HPERSIST": keepsNot, "HTTL": keepsNot, "HPTTL": keepsNot, "HSETEX": keepsNot,
	// miniredis answers these in the order of a Go map, and those that store leave empty keys.
	"SDIFF": asNoServer, "SINTER": asNoServer, "SUNION": asNoServer, "RANDOMKEY": asNoServer,
	"SDIFFSTORE": asNoServer, "SINTERSTORE": asNoServer, "SUNIONSTORE": asNoServer,
	"ZINTER": asNoServer, "ZUNION": asNoServer, "ZINTERSTORE": asNoServer, "ZUNIONSTORE": asNoServer,
	"BITOP":  asNoServer, // it keeps the time to live of the key that it writes
	"SWAPDB": zeroOnly, "MOVE": zeroOnly,
	"COPY": notHere, "DUMP": notHere, "RESTORE": notHere, "OBJECT": notHere, "MEMORY": notHere, "CLUSTER": notHere,
	"PUBSUB": notHere, "PSUBSCRIBE": notHere, "PUNSUBSCRIBE": notHere, "SUBSCRIBE": notHere,
	"UNSUBSCRIBE": notHere,
}

// omits says why a node does not answer a command that miniredis has, "" if it does.
func omits(name string) string {
	switch why, known := unmodelled[name]; {
	case known:
		return why
	case strings.HasPrefix(name, "PF"), strings.HasPrefix(name, "X"), strings.HasPrefix(name, "GEO"):
		return keepsNot
	}
	return ""
}

// writes says whether a command changes keys itself: a script and a transaction change what others in them do.
func writes(name string) bool {
	return !cluster.ChangesNoKey(name) && name != "EVAL" && name != "EVALSHA"
}

// screen is miniredis's hook before every command, those of scripts included.
// It answers what miniredis cannot, and refuses what the node does not model.
// It runs while the node executes a command and holds its lock.
func (n *Node) screen(peer *server.Peer, name string, args ...string) bool {
	switch {
	case n.release.lacks(name):
		unknown := fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", name)
		for _, arg := range args {
			unknown += "'" + arg + "' "
		}
		peer.WriteError(unknown)
	case omits(name) != "":
		peer.WriteError(fmt.Sprintf("ERR %s is not modelled by the virtual cluster, %s: use the local cluster", name,
			omits(name)))
	case !n.server.Server().IsRegisteredCommand(name) && !n.compares(name, nil):
		peer.WriteError(fmt.Sprintf("ERR unknown command '%s', or one that the virtual cluster does not model: use the "+
			"local cluster if servers have it", name))
	case writes(name) && n.refusal() != "":
		peer.WriteError(n.refusal())
	case name == "SELECT" && len(args) == 1 && args[0] != "0":
		peer.WriteError("ERR the virtual cluster's nodes have database 0 only: use the local cluster")
	case n.compares(name, args):
		n.compare(peer, name, args)
	case name == "PUBLISH":
		n.publish(peer, args)
	case rounds(name, args):
		n.round(peer, name, args[0])
	case name == "INFO" && (len(args) == 0 || informs(args[0])):
		peer.WriteBulk(n.info())
	case name == "INFO" && len(args) == 1:
		peer.WriteError(fmt.Sprintf("ERR INFO %s is not modelled by the virtual cluster: use the local cluster", args[0]))
	default:
		return false
	}
	return true
}

// rounds says whether a command answers in seconds. miniredis cuts them off; servers round them.
func rounds(name string, args []string) bool {
	return (name == "TTL" || name == "EXPIRETIME") && len(args) == 1
}

// round answers such a command.
func (n *Node) round(peer *server.Peer, name, key string) {
	var ms int
	_, _ = fmt.Sscanf(n.aside(peer, "P"+name, key), ":%d", &ms) // which answers nothing else
	if ms >= 0 {
		ms = (ms + 500) / 1000
	}
	peer.WriteInt(ms)
}

// informs reports whether a section of INFO includes the server's.
func informs(section string) bool {
	switch strings.ToLower(section) {
	case "server", "default", "all", "everything":
		return true
	}
	return false
}

// info is the section server, with an uptime by the wall clock, as a server counts it.
func (n *Node) info() string {
	return fmt.Sprintf("# Server\r\n%s\r\nredis_mode:standalone\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n",
		n.release.says, n.runID, (n.clock.at(n.now())-n.booted)/1e9)
}
