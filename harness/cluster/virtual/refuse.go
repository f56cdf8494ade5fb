package virtual

import (
	"bytes"
	"fmt"
	"strings"

	"example.org/lockproof/harness/cluster/script"
)

// refusal is why the node takes no writes now, "" if it does: it is a replica, or has
// fewer than min-replicas-to-write replicas whose word is fresh.
func (n *Node) refusal() string {
	switch r := n.rep; {
	case r == nil:
	case r.isReplica:
		return "READONLY You can't write against a read only replica."
	case r.good < r.leastReplicas:
		return "NOREPLICAS Not enough good replicas to write."
	}
	return ""
}

// refusedScript is the reply to a script, in Redis's words if it failed since the node
// takes no writes: miniredis says it in those of Lua.
func (n *Node) refusedScript(args []string, reply []byte) []byte {
	why := n.refusal()
	if why == "" || !bytes.HasPrefix(reply, []byte("-ERR Error ")) {
		return reply
	}
	before, _, found := bytes.Cut(reply, []byte(": "+why))
	if !found {
		return reply
	}
	digest := args[1]
	if strings.EqualFold(args[0], "EVAL") {
		digest = script.Digest(args[1])
	}
	line := before[bytes.LastIndexByte(before, ':')+1:]
	return fmt.Appendf(nil, "-%s script: %s, on @user_script:%s.\r\n", why, digest, line)
}

// abort is the reply to EXEC of a transaction with writes that the node would refuse now;
// nil for any other command.
func (n *Node) abort(k *conn, name string) []byte {
	why := n.refusal()
	if name != "EXEC" || !k.transacts || !k.queuesWrites || why == "" {
		return nil
	}
	n.aside(k.peer, "DISCARD")
	k.transacts, k.queuesWrites = false, false
	return []byte("-EXECABORT Transaction discarded because of: " + why + "\r\n")
}
