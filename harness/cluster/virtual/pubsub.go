package virtual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"example.org/lockproof/harness/history"
)

// allowedWhileSubscribed are the commands that a subscribed RESP2 connection may send.
var allowedWhileSubscribed = map[string]bool{"SUBSCRIBE": true, "UNSUBSCRIBE": true, "PING": true, "QUIT": true}

// subscribe is SUBSCRIBE, with one reply for each channel.
func (n *Node) subscribe(k *conn, channels []string) {
	if len(channels) == 0 {
		k.peer.WriteError(wrongNumber("SUBSCRIBE"))
		return
	}
	if slices.ContainsFunc(channels, notifies) {
		k.peer.WriteError(fmt.Sprintf("ERR SUBSCRIBE to keyspace notifications %s: use the local cluster",
			history.Unmodelled))
		return
	}
	if !slices.Contains(n.subscribers, k) {
		n.subscribers = append(n.subscribers, k)
	}
	for _, channel := range channels {
		if !slices.Contains(k.channels, channel) {
			k.channels = append(k.channels, channel)
		}
		k.confirm("subscribe", channel)
	}
}

// notifies reports whether a channel has keyspace notifications, which servers send if they are configured to.
func notifies(channel string) bool {
	return strings.HasPrefix(channel, "__keyspace@") || strings.HasPrefix(channel, "__keyevent@")
}

// confirm writes the confirmation of a subscription or its end.
func (k *conn) confirm(what, channel string) {
	k.peer.WritePushLen(3)
	k.peer.WriteBulk(what)
	k.peer.WriteBulk(channel)
	k.peer.WriteInt(len(k.channels))
}

// unsubscribe is UNSUBSCRIBE, of all channels if none is named.
func (n *Node) unsubscribe(k *conn, channels []string) {
	if len(channels) == 0 {
		channels = slices.Clone(k.channels)
	}
	for _, channel := range channels {
		k.channels = slices.DeleteFunc(k.channels, func(has string) bool { return has == channel })
		k.confirm("unsubscribe", channel)
	}
	if len(channels) == 0 {
		k.peer.WritePushLen(3)
		k.peer.WriteBulk("unsubscribe")
		k.peer.WriteNull()
		k.peer.WriteInt(0)
	}
}

// publish is PUBLISH of a connection or a script. A message without subscribers is lost.
func (n *Node) publish(peer *server.Peer, args []string) {
	if len(args) != 2 {
		peer.WriteError(wrongNumber("PUBLISH"))
		return
	}
	n.rep.feed("PUBLISH", args[0], args[1])
	peer.WriteInt(n.deliver(args[0], args[1]))
}

// deliver sends a message to the node's subscribers, in the order of their subscriptions.
func (n *Node) deliver(channel, message string) (receivers int) {
	n.subscribers = slices.DeleteFunc(n.subscribers, func(k *conn) bool { return !n.conns[k] })
	for _, k := range n.subscribers {
		if !slices.Contains(k.channels, channel) {
			continue
		}
		receivers++
		encoded := encode([]string{"message", channel, message})
		if k.peer.Resp3 {
			encoded[0] = '>'
		}
		k.Write(encoded)
	}
	return receivers
}

// pubSub executes commands on channels, and refuses other commands of a subscribed connection. It returns false for any
// other case.
func (n *Node) pubSub(k *conn, name string, args []string) bool {
	subscribed := len(k.channels) > 0 && !k.peer.Resp3
	switch {
	case k.transacts:
		return false // screen refuses it
	case subscribed && !allowedWhileSubscribed[name]:
		k.peer.WriteError(fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "+
			"RESET are allowed "+
			"in this context", strings.ToLower(name)))
	case name == "SUBSCRIBE":
		n.subscribe(k, args[1:])
	case name == "UNSUBSCRIBE":
		n.unsubscribe(k, args[1:])
	case subscribed && name == "PING":
		k.peer.WriteStrings([]string{"pong", ""})
	default:
		return false
	}
	return true
}
