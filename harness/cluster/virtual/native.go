package virtual

import (
	"strings"

	"example.org/lockproof/harness/cluster/script"
)

// native carries out a call of a script that need not go to Lua. It gives false, and
// has changed nothing, where the answer is miniredis's to give: the server may not know
// the script, the call may belong to a transaction, or its course is not the plain one.
func (n *Node) native(k *conn, args []string) bool {
	s, found := script.NativeOf(args)
	if !found || k.transacts || n.refusal() != "" {
		return false
	}
	named := strings.EqualFold(args[0], "EVALSHA")
	known := n.inner.Eval("SCRIPT", "EXISTS", s.Digest) == "*1\r\n:1\r\n"
	if named && !known {
		return false
	}
	answer, ok := s.Run(n.inner, args)
	if !ok {
		return false
	}
	if !known {
		n.inner.Eval("SCRIPT", "LOAD", s.Text)
	}
	script.Write(k.peer, answer)
	return true
}
