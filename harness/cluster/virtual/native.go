package virtual

import (
	"strings"

	"example.org/lockproof/harness/cluster/script"
)

// native carries out a call of a script that need not go to Lua. It gives false, and has changed nothing, where the
// server may not know the script, the call may belong to a transaction, or its course is not the plain one.
func (n *Node) native(k *conn, args []string) bool {
	if k.transacts || n.refusal() != "" {
		return false
	}
	byDigest := strings.EqualFold(args[0], "EVALSHA")
	if byDigest && (len(args) < 2 || n.inner.Eval("SCRIPT", "EXISTS", args[1]) != "*1\r\n:1\r\n") {
		return false
	}
	text, answer, ok := script.RunNative(n.server, args)
	if !ok {
		return false
	}
	if !byDigest {
		n.inner.Eval("SCRIPT", "LOAD", text)
	}
	script.Write(k.peer, answer)
	return true
}
