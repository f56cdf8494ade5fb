package cluster

import "strings"

// harmless are the commands that change no key, but for what links read of them. What is
// not among them may change any key that it names.
var harmless = Commands(`
	AUTH HELLO PING ECHO QUIT RESET SELECT CLIENT COMMAND READONLY READWRITE ASKING
	INFO CONFIG TIME DBSIZE ROLE WAIT WAITAOF CLUSTER ACL MEMORY LATENCY SLOWLOG OBJECT MODULE FUNCTION LASTSAVE SAVE
	BGSAVE BGREWRITEAOF MONITOR SCRIPT
	PUBLISH SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SPUBLISH SSUBSCRIBE SUNSUBSCRIBE PUBSUB
	MULTI EXEC DISCARD WATCH UNWATCH EVAL_RO EVALSHA_RO
	GET MGET STRLEN GETRANGE EXISTS TYPE TOUCH TTL PTTL EXPIRETIME PEXPIRETIME KEYS SCAN RANDOMKEY DUMP DIGEST
	HGET HMGET HGETALL HEXISTS HKEYS HVALS HLEN SCARD SISMEMBER SMEMBERS LLEN LINDEX LRANGE
	ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZRANK ZSCORE XLEN XRANGE`)

// taking are the commands that may take a key or give it a time to live. What else changes one only writes into it.
var taking = Commands(`SET SETNX GETSET SETEX PSETEX EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETEX HEXPIRE HPEXPIRE HSETEX
	EVAL EVALSHA FCALL`)

// MayTake says whether a command, in capitals, is one of those.
func MayTake(name string) bool { return taking[name] }

// ChangesNoKey says whether a command, in capitals, is one of those.
func ChangesNoKey(name string) bool { return harmless[name] }

// Commands is a set of commands.
func Commands(list string) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(list) {
		words[word] = true
	}
	return words
}
