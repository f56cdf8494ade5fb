package virtual

import (
	"strings"

	"lockproof/harness/cluster/script"
)

// native carries out a call of a script that need not go to Lua. It gives false, and
// has changed nothing, where the answer is miniredis's to give: the server may not know
// the script, the call may belong to a transaction, or its course is not the plain one.
func (n *Node) native(k *conn, args []string) bool {
	s, found := script.NativeOf(args)
	if !found || k.transacts {
		return false
	}
	named := strings.EqualFold(args[0], "EVALSHA")
	if named && n.inner.Say("SCRIPT", "EXISTS", args[1]) != "*1\r\n:1\r\n" {
		return false
	}
	answer, ok := s.Run(n.inner, args)
	if !ok {
		return false
	}
	if !named {
		n.inner.Say("SCRIPT", "LOAD", s.Text)
	}
	script.Write(k.peer, answer)
	return true
}
