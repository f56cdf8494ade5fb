package virtual

import (
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// The reasons for unmodelled commands of miniredis. pubSub handles subscriptions, as they belong to a connection.
const (
	neverWait = "whose nodes never wait"
	typesOnly = "whose nodes keep strings, hashes, lists, sets and sorted sets, and expire whole keys"
	zeroOnly  = "whose nodes have database 0 only"
	differs   = "whose miniredis answers it otherwise than servers do"
	partial   = "whose nodes are not all that a server is"
)

// unmodelled maps commands that nodes refuse to the reason.
var unmodelled = map[string]string{
	"BLPOP": neverWait, "BRPOP": neverWait, "BRPOPLPUSH": neverWait, "BLMOVE": neverWait, "BZMPOP": neverWait,
	"BZPOPMAX": neverWait, "BZPOPMIN": neverWait, "WAIT": neverWait, waitAOF: neverWait,
	// In miniredis a field that is set or recreated keeps its old expiry.
	"HEXPIRE": typesOnly, "HPERSIST": typesOnly, "HTTL": typesOnly, "HPTTL": typesOnly, "HSETEX": typesOnly,
	// miniredis answers these in the order of a Go map, and the STORE commands leave empty keys.
	"SDIFF": differs, "SINTER": differs, "SUNION": differs, "RANDOMKEY": differs,
	"SDIFFSTORE": differs, "SINTERSTORE": differs, "SUNIONSTORE": differs,
	"ZINTER": differs, "ZUNION": differs, "ZINTERSTORE": differs, "ZUNIONSTORE": differs,
	"BITOP":  differs, // it keeps the expiry of the key that it writes
	"SWAPDB": zeroOnly, "MOVE": zeroOnly,
	"COPY": partial, "DUMP": partial, "RESTORE": partial, "OBJECT": partial, "MEMORY": partial, "CLUSTER": partial,
	"PUBSUB": partial, "PSUBSCRIBE": partial, "PUNSUBSCRIBE": partial, "SUBSCRIBE": partial,
	"UNSUBSCRIBE": partial,
}

// whyUnmodelled returns the reason why nodes refuse a command of miniredis, "" if they answer it.
func whyUnmodelled(name string) string {
	switch why, known := unmodelled[name]; {
	case known:
		return why
	case strings.HasPrefix(name, "PF"), strings.HasPrefix(name, "X"), strings.HasPrefix(name, "GEO"):
		return typesOnly
	}
	return ""
}

// writes reports whether a command itself may change keys. A script's and a transaction's own commands do that.
func writes(name string) bool {
	return !cluster.ChangesNoKey(name) && name != "EVAL" && name != "EVALSHA"
}

// screen is miniredis's hook before every command, including those of scripts. It answers commands that miniredis
// lacks, and refuses commands that the node does not model. The caller holds the node's lock.
func (n *Node) screen(peer *server.Peer, name string, args ...string) bool {
	switch {
	case n.release.lacks(name) && !(n.release.later && name == waitAOF): // Valkey has it
		unknown := fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", name)
		for _, arg := range args {
			unknown += "'" + arg + "' "
		}
		peer.WriteError(unknown)
	case whyUnmodelled(name) != "":
		peer.WriteError(fmt.Sprintf("ERR %s %s, %s: use the local cluster", name, history.Unmodelled, whyUnmodelled(name)))
	case !n.server.Server().IsRegisteredCommand(name) && !n.compares(name, nil):
		peer.WriteError(fmt.Sprintf("ERR unknown command '%s', or one that %s: use the local cluster if servers have it",
			name, history.Unmodelled))
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
		peer.WriteError(fmt.Sprintf("ERR INFO %s %s: use the local cluster", args[0], history.Unmodelled))
	default:
		return false
	}
	return true
}

// rounds reports whether a command answers in seconds, which servers round and miniredis truncates.
func rounds(name string, args []string) bool {
	return (name == "TTL" || name == "EXPIRETIME") && len(args) == 1
}

// round answers in rounded seconds.
func (n *Node) round(peer *server.Peer, name, key string) {
	var ms int
	_, _ = fmt.Sscanf(n.runInternally(peer, "P"+name, key), ":%d", &ms) // its reply is always an integer
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

// info is the section server, with the uptime by the wall clock, as in Redis.
func (n *Node) info() string {
	return fmt.Sprintf("# Server\r\n%s\r\nredis_mode:standalone\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n",
		n.release.info, n.runID, (n.clock.At(n.now())-n.booted)/1e9)
}
