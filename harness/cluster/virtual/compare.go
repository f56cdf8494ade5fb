package virtual

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/zeebo/xxh3"
)

// condition is what a command asks of a key's value before it acts.
type condition struct {
	name string // IFEQ, IFNE; IFDEQ, IFDNE of the value's digest
	word string
}

// met says whether a key's value meets it. A key that is not there differs from
// everything.
func (c condition) met(value string, there bool) bool {
	switch c.name {
	case "IFEQ":
		return there && value == c.word
	case "IFNE":
		return !there || value != c.word
	case "IFDEQ":
		return there && strings.EqualFold(digest(value), c.word)
	default:
		return !there || !strings.EqualFold(digest(value), c.word)
	}
}

// fault is what a server answers to a condition that no value can meet, where it has a
// value to compare; "": it is well. Of a digest it looks at the length alone.
func (c condition) fault() string {
	if strings.HasPrefix(c.name, "IFD") && len(c.word) != digestLength {
		return fmt.Sprintf("ERR must be exactly %d hexadecimal characters", digestLength)
	}
	return ""
}

// digestLength is that of a digest in hexadecimal characters.
const digestLength = 16

// digest is what DIGEST answers, and conditions compare: XXH3 in 64 bits.
func digest(value string) string { return fmt.Sprintf("%0*x", digestLength, xxh3.HashString(value)) }

// compares says whether a command compares, in the release of the node, and is one that
// it has to carry out: miniredis has DELEX alone, and that not whole.
func (n *Node) compares(name string, args []string) bool {
	if name != waitAOF && slices.Contains(n.release.later, name) {
		return true
	}
	if name != "SET" || len(n.release.conditions) == 0 {
		return false
	}
	return n.parseSet(args).given != nil
}

// compare carries out such a command, of a connection or of a script.
func (n *Node) compare(peer *server.Peer, name string, args []string) {
	switch name {
	case "DELEX":
		n.deleteIf(peer, args)
	case "DELIFEQ":
		if len(args) != 2 {
			peer.WriteError(wrongNumber(name))
			return
		}
		n.deleteIf(peer, []string{args[0], "IFEQ", args[1]})
	case "DIGEST":
		if len(args) != 1 {
			peer.WriteError(wrongNumber(name))
		} else if value, there := n.value(peer, args[0]); there {
			peer.WriteBulk(digest(value))
		} else {
			peer.WriteNull()
		}
	default:
		n.setIf(peer, args)
	}
}

// deleteIf is DELEX key [condition word].
func (n *Node) deleteIf(peer *server.Peer, args []string) {
	if len(args) != 1 && len(args) != 3 {
		peer.WriteError(wrongNumber("DELEX"))
		return
	}
	value, there := n.value(peer, args[0])
	if there && len(args) == 3 {
		c := condition{strings.ToUpper(args[1]), args[2]}
		if !slices.Contains([]string{"IFEQ", "IFNE", "IFDEQ", "IFDNE"}, c.name) {
			peer.WriteError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
			return
		}
		if fault := c.fault(); fault != "" {
			peer.WriteError(fault)
			return
		}
		if !c.met(value, there) {
			peer.WriteInt(0)
			return
		}
	}
	n.server.Server().Dispatch(peer, []string{"DEL", args[0]})
}

// setIf is SET with a condition. Where that is not met, it gives miniredis the SET with
// one that is not, either: so the rest of it is judged, and GET answered.
func (n *Node) setIf(peer *server.Peer, args []string) {
	set := n.parseSet(args)
	if set.malformed {
		peer.WriteError("ERR syntax error")
		return
	}
	c, plain := *set.given, set.plain
	value, there := n.value(peer, plain[0])
	if fault := c.fault(); there && fault != "" {
		peer.WriteError(fault)
		return
	}
	switch met := c.met(value, there); {
	case !met && there:
		plain = append(plain, "NX")
	case !met:
		plain = append(plain, "XX")
	}
	n.server.Server().Dispatch(peer, append([]string{"SET"}, plain...))
}

// set is a SET command.
type set struct {
	given     *condition // nil: none
	plain     []string   // the other words
	malformed bool       // in a way that miniredis does not see
}

// parseSet takes a SET apart as Redis 8.6 does: NX and XX count beside a condition, if
// they follow it; of what is given twice the last counts. Valkey has one condition alone.
func (n *Node) parseSet(args []string) set {
	var s set
	var expiry, exists string
	var number []string
	one := func(of *string, name string) { // of several that exclude each other
		s.malformed = s.malformed || *of != "" && *of != name
		*of = name
	}
	values := min(2, len(args)) // key and value
	s.plain = append(s.plain, args[:values]...)
	for i := values; i < len(args); i++ {
		switch name := strings.ToUpper(args[i]); {
		case i+1 < len(args) && slices.Contains(n.release.conditions, name):
			s.malformed = s.malformed || exists != "" || s.given != nil && (n.release.alone || s.given.name != name)
			s.given = &condition{name, args[i+1]}
			i++
		case slices.Contains([]string{"EX", "PX", "EXAT", "PXAT"}, name):
			one(&expiry, name)
			if s.malformed = s.malformed || i+1 == len(args); !s.malformed {
				number = args[i : i+2]
			}
			i++
		case name == "KEEPTTL":
			one(&expiry, name)
			number = args[i : i+1]
		case name == "NX" || name == "XX":
			one(&exists, name)
			fallthrough
		default:
			s.plain = append(s.plain, args[i])
		}
	}
	s.malformed = s.malformed || n.release.alone && s.given != nil && exists != ""
	s.plain = append(s.plain, number...)
	return s
}

// value reads a key for a peer, in its script if it is one's.
func (n *Node) value(peer *server.Peer, key string) (value string, there bool) {
	length, value, _ := strings.Cut(n.aside(peer, "GET", key), "\r\n")
	return strings.TrimSuffix(value, "\r\n"), length != "$-1"
}

// aside gives a command for a peer whose reply is not for it, and returns that in RESP.
func (n *Node) aside(peer *server.Peer, args ...string) string {
	var reply bytes.Buffer
	own := server.NewPeer(bufio.NewWriter(&reply))
	own.Ctx = peer.Ctx
	n.server.Server().Dispatch(own, args)
	own.Flush()
	return reply.String()
}

// refuseToQueue answers a command that compares in a transaction, where miniredis would
// carry out its parts later. The transaction is aborted, as by any other error.
func (n *Node) refuseToQueue(peer *server.Peer, name string) {
	n.aside(peer, "GET") // with too few arguments
	peer.WriteError(fmt.Sprintf("ERR %s is not modelled so by the virtual cluster within MULTI: use the local or "+
		"docker cluster", name))
}

func wrongNumber(name string) string {
	return fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(name))
}
