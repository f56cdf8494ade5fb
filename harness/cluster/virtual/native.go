package virtual

import (
	"strings"

	"example.org/lockproof/harness/cluster/link"
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
	digest := strings.ToLower(args[1])
	named := strings.EqualFold(args[0], "EVALSHA")
	if named && !n.natives[digest] && n.inner.Eval("SCRIPT", "EXISTS", digest) != "*1\r\n:1\r\n" {
		return false
	}
	answer, ok := s.Run(n.inner, args)
	if !ok {
		return false
	}
	if !named {
		n.natives[s.Digest] = true
	}
	script.Write(k.peer, answer)
	return true
}

// loadNatives tells miniredis the native scripts that the server knows, before a
// command whose answer is about them. To load each at once cost more than its calls:
// miniredis parses what it is given.
func (n *Node) loadNatives(args []string) {
	switch link.Capitals(args[0]) {
	case "SCRIPT", "EXEC":
	case "EVALSHA", "EVALSHA_RO":
		if len(args) < 2 || !n.natives[strings.ToLower(args[1])] {
			return
		}
	default:
		return
	}
	for _, s := range script.Natives() {
		if n.natives[s.Digest] {
			n.inner.Eval("SCRIPT", "LOAD", s.Text)
		}
	}
	clear(n.natives)
}
