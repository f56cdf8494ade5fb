package virtual

import (
	"bytes"
	"fmt"
	"strings"

	"example.org/lockproof/harness/cluster/script"
)

// refusal is the reason why the node refuses writes now, "" if it accepts them: it is a replica, or has fewer than
// min-replicas-to-write replicas with a recent acknowledgement.
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

// refusedScript returns the reply to a script. If the node refused its write, it replaces miniredis's error by Redis's.
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

// abort is the reply to EXEC if the node now refuses the transaction's writes; nil for any other command.
func (n *Node) abort(k *conn, name string) []byte {
	why := n.refusal()
	if name != "EXEC" || !k.transacts || !k.queuesWrites || why == "" {
		return nil
	}
	n.runInternally(k.peer, "DISCARD")
	k.transacts, k.queuesWrites = false, false
	return []byte("-EXECABORT Transaction discarded because of: " + why + "\r\n")
}
