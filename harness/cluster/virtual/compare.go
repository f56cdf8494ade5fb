package virtual

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// compares reports whether a command compares a key's value first, so that the node itself must execute it:
// SET key value IFEQ word, and DELEX key IFEQ word of Redis 8.4 or DELIFEQ key word of Valkey 9.0.
func (n *Node) compares(name string, args []string) bool {
	switch name {
	case "DELEX", "DELIFEQ":
		return !n.release.lacks(name)
	case "SET":
		return n.release.later && condition(args) > 0
	}
	return false
}

// condition is the index of a condition among the arguments of a SET, 0 for none.
func condition(args []string) int {
	for i := 2; i+1 < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "IFEQ", "IFNE", "IFDEQ", "IFDNE":
			return i
		case "EX", "PX", "EXAT", "PXAT":
			i++
		}
	}
	return 0
}

// compare executes such a command for a connection or a script.
func (n *Node) compare(peer *server.Peer, name string, args []string) {
	switch at := condition(args); {
	case name == "SET" && strings.EqualFold(args[at], "IFEQ") && alone(args[2:]):
		n.setIfEqual(peer, slices.Concat(args[:at], args[at+2:]), args[at+1])
	case name == "DELIFEQ" && len(args) == 2:
		n.deleteIfEqual(peer, args[0], args[1])
	case name == "DELEX" && len(args) == 1:
		n.server.Server().Dispatch(peer, []string{"DEL", args[0]})
	case name == "DELEX" && len(args) == 3 && strings.EqualFold(args[1], "IFEQ"):
		n.deleteIfEqual(peer, args[0], args[2])
	case name == "SET" || name == "DELEX" && len(args) == 3:
		peer.WriteError(fmt.Sprintf("ERR %s is modelled by the virtual cluster with IFEQ alone: use the local or docker "+
			"cluster", name))
	default:
		peer.WriteError(wrongNumber(name))
	}
}

// alone reports whether the options of a SET have exactly one condition, NX and XX included.
func alone(options []string) bool {
	found := 0
	for _, word := range options {
		if slices.Contains([]string{"IFEQ", "IFNE", "IFDEQ", "IFDNE", "NX", "XX"}, strings.ToUpper(word)) {
			found++
		}
	}
	return found == 1
}

func (n *Node) deleteIfEqual(peer *server.Peer, key, word string) {
	switch value, there, isString := n.value(peer, key); {
	case !isString:
		peer.WriteError(wrongType)
		return
	case !there || value != word:
		peer.WriteInt(0)
		return
	}
	n.server.Server().Dispatch(peer, []string{"DEL", key})
}

// setIfEqual translates a failing IFEQ into a failing XX or NX, so that miniredis still answers GET.
func (n *Node) setIfEqual(peer *server.Peer, plain []string, word string) {
	switch value, there, isString := n.value(peer, plain[0]); {
	case !isString:
		peer.WriteError(wrongType)
		return
	case !there:
		plain = append(plain, "XX")
	case value != word:
		plain = append(plain, "NX")
	}
	n.server.Server().Dispatch(peer, append([]string{"SET"}, plain...))
}

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

// value reads a key, within the peer's script if there is one. isString is false for a key of another type.
func (n *Node) value(peer *server.Peer, key string) (value string, there, isString bool) {
	length, value, _ := strings.Cut(n.runInternally(peer, "GET", key), "\r\n")
	return strings.TrimSuffix(value, "\r\n"), length != "$-1", !strings.HasPrefix(length, "-")
}

// runInternally executes a command in the peer's context, and returns the reply in RESP without sending it.
func (n *Node) runInternally(peer *server.Peer, args ...string) string {
	var reply bytes.Buffer
	own := server.NewPeer(bufio.NewWriter(&reply))
	own.Ctx = peer.Ctx
	n.server.Server().Dispatch(own, args)
	own.Flush()
	return reply.String()
}

func wrongNumber(name string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}
