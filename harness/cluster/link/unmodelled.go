package link

import "strings"

// harmless are the commands that change no key, but for those that command.go reads. What is
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

// mostWords and mostBytes are how much of a command that we do not know a history keeps. One
// that says more is taken for one that may change every key.
const mostWords, mostBytes = 32, 1024

// unmodelled: what it does to any of these, we cannot say; of none, to any key.
func (c *command) unmodelled(words []string) {
	c.Effect, c.Token, c.Expiry, c.ends, c.unknown = "", "", 0, 0, true
	c.Key, c.others = "", nil
	if len(words) > 0 && len(words) <= mostWords && len(strings.Join(words, "")) <= mostBytes {
		c.Key, c.others = words[0], words[1:]
	}
	if len(c.others) == 0 {
		c.others = nil
	}
}

// changesKeys reports whether a script may change keys: it calls something that does.
func changesKeys(body string) bool {
	for _, m := range reading.FindAllStringSubmatch(body, -1) {
		if !harmless[strings.ToUpper(m[1])] {
			return true
		}
	}
	return false
}
