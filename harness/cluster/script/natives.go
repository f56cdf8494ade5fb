package script

// natives are the scripts of the built-in locks and of the store that they guard.
var natives = []Native{
	{Keys: 1, Args: 1, do: deleteOwn, Text: `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
end
return 0`}, // redlock
	{Keys: 1, Args: 2, do: expireOwn, Text: `if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("pexpire", KEYS[1], ARGV[2])
end
return 0`}, // redlock
	{Keys: 1, Args: 1, do: deleteOwn, Text: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`}, // single
	{Keys: 1, Args: 2, do: expireOwn, Text: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`}, // single
	{Keys: 1, Args: 1, do: deleteOwnOrMiss, Text: `
	local val = redis.call("GET", KEYS[1])
	if val == ARGV[1] then
		return redis.call("DEL", KEYS[1])
	elseif val == false then
		return -1
	else
		return 0
	end
`}, // redsync v4.18.0
	{Keys: 1, Args: 2, do: expireOwn, Text: `
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	else
		return 0
	end
`}, // redsync v4.18.0
	{Keys: 1, Args: 1, do: claim, Text: `
local seen = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) <= seen then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`}, // fenced-by-claim
	{Keys: 2, Args: 1, do: fencedRead, Text: `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return false end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call('GET', KEYS[1]) or ''`}, // the store
	{Keys: 2, Args: 2, do: fencedWrite, Text: `
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or '0') then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[2])
return 1`}, // the store
	{Keys: 1, Args: 2, do: writeIfBase, Text: `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`}, // the store
}

func deleteOwn(c *calls, keys, args []string) any {
	if !c.holds(keys[0], args[0]) {
		return 0
	}
	return c.integer("DEL", keys[0])
}

func expireOwn(c *calls, keys, args []string) any {
	if !c.holds(keys[0], args[0]) {
		return 0
	}
	return c.integer("PEXPIRE", keys[0], args[1])
}

func deleteOwnOrMiss(c *calls, keys, args []string) any {
	if _, there := c.get(keys[0]); !there {
		return -1
	}
	return deleteOwn(c, keys, args)
}

// older says whether a token is below the highest that a key holds.
func older(c *calls, token, key string) bool {
	highest, there := c.get(key)
	if !there {
		highest = "0"
	}
	return c.number(token) < c.number(highest)
}

func claim(c *calls, keys, args []string) any {
	seen, there := c.get(keys[0])
	if !there {
		seen = "0"
	}
	if c.number(args[0]) <= c.number(seen) || c.failed {
		return 0
	}
	c.call("SET", keys[0], args[0])
	return 1
}

func fencedRead(c *calls, keys, args []string) any {
	if older(c, args[0], keys[1]) || c.failed {
		return nil
	}
	c.call("SET", keys[1], args[0])
	value, _ := c.get(keys[0])
	return value
}

func fencedWrite(c *calls, keys, args []string) any {
	if older(c, args[0], keys[1]) || c.failed {
		return 0
	}
	c.call("SET", keys[1], args[0])
	c.call("SET", keys[0], args[1])
	return 1
}

func writeIfBase(c *calls, keys, args []string) any {
	if present, _ := c.get(keys[0]); present != args[0] {
		return 0
	}
	c.call("SET", keys[0], args[1])
	return 1
}
