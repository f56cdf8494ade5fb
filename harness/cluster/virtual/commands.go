package virtual

import (
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// effect says whether a command can change keys.
type effect int

const (
	reads effect = iota + 1
	writes
)

// modelled are the commands that a node answers. It keeps strings only, in
// database 0, since that is what its persistence models; no command may wait,
// since the whole node would wait with it. Subscriptions are a connection's: pubSub has them.
var modelled = map[string]effect{
	"PING": reads, "ECHO": reads, "HELLO": reads, "AUTH": reads, "QUIT": reads, "CLIENT": reads, "COMMAND": reads,
	"SELECT": reads, "TIME": reads, "INFO": reads, "DBSIZE": reads, "SCRIPT": reads, "PUBLISH": reads,

	"GET": reads, "MGET": reads, "STRLEN": reads, "GETRANGE": reads, "EXISTS": reads, "TYPE": reads, "TOUCH": reads,
	"TTL": reads, "PTTL": reads, "EXPIRETIME": reads, "PEXPIRETIME": reads, "KEYS": reads, "SCAN": reads,

	"SET": writes, "SETNX": writes, "SETEX": writes, "PSETEX": writes, "GETSET": writes, "GETDEL": writes, "GETEX": writes,
	"MSET": writes, "MSETNX": writes, "APPEND": writes, "SETRANGE": writes,
	"INCR": writes, "INCRBY": writes, "INCRBYFLOAT": writes, "DECR": writes, "DECRBY": writes,
	"DEL": writes, "UNLINK": writes, "EXPIRE": writes, "PEXPIRE": writes, "EXPIREAT": writes, "PEXPIREAT": writes,
	"PERSIST": writes, "RENAME": writes, "RENAMENX": writes, "FLUSHALL": writes, "FLUSHDB": writes,

	"EVAL": writes, "EVALSHA": writes, "EVAL_RO": reads, "EVALSHA_RO": reads,
	"DELEX": writes, "DELIFEQ": writes,

	"MULTI": reads, "EXEC": writes, "DISCARD": reads, "WATCH": reads, "UNWATCH": reads,
}

// changes gives the key that a command may change, where it is the only one.
func changes(args []string) (key string, only bool) {
	switch strings.ToUpper(args[0]) {
	case "SET", "SETNX", "PEXPIRE", "DELEX", "DELIFEQ":
		return args[min(1, len(args)-1)], true
	case "DEL":
		return args[min(1, len(args)-1)], len(args) == 2
	}
	return "", false
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
	case n.refuses(name):
		peer.WriteError(n.refusal())
	case modelled[name] == 0:
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
