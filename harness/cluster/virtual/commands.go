package virtual

import (
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/cluster"
)

// modelled are the commands that a node answers. It keeps strings only, in
// database 0, since that is what its persistence models; no command may wait,
// since the whole node would wait with it. Subscriptions are a connection's: pubSub has them.
var modelled = cluster.Commands(`
	PING ECHO HELLO AUTH QUIT CLIENT COMMAND SELECT TIME INFO DBSIZE SCRIPT PUBLISH
	GET MGET STRLEN GETRANGE EXISTS TYPE TOUCH TTL PTTL EXPIRETIME PEXPIRETIME KEYS SCAN
	SET SETNX SETEX PSETEX GETSET GETDEL GETEX MSET MSETNX APPEND SETRANGE INCR INCRBY INCRBYFLOAT DECR DECRBY
	DEL UNLINK EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST RENAME RENAMENX FLUSHALL FLUSHDB
	EVAL EVALSHA EVAL_RO EVALSHA_RO DELEX DELIFEQ MULTI EXEC DISCARD WATCH UNWATCH`)

// writes says whether a command changes keys itself: a script and a transaction change what others in them do.
func writes(name string) bool {
	return modelled[name] && !cluster.ChangesNoKey(name) && name != "EVAL" && name != "EVALSHA"
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
	case writes(name) && n.refusal() != "":
		peer.WriteError(n.refusal())
	case !modelled[name]:
		if name != waitAOF && !n.server.Server().IsRegisteredCommand(name) {
			return false // miniredis says that there is no such command
		}
		peer.WriteError(fmt.Sprintf("ERR %s is not modelled by the virtual cluster, whose nodes keep strings and "+
			"never wait: use the local cluster", name))
	case name == "SELECT" && len(args) == 1 && args[0] != "0":
		peer.WriteError("ERR the virtual cluster's nodes have database 0 only: use the local cluster")
	case n.compares(name, args):
		n.compare(peer, name, args)
	case name == "PUBLISH":
		n.publish(peer, args)
	case name == "INFO" && (len(args) == 0 || informs(args[0])):
		peer.WriteBulk(n.info())
	case name == "INFO" && len(args) == 1:
		peer.WriteError(fmt.Sprintf("ERR INFO %s is not modelled by the virtual cluster: use the local cluster", args[0]))
	default:
		return false
	}
	return true
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
