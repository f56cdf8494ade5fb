package league

// unjudged are the locks that do not run here, with the reasons.
func unjudged() []Lock {
	own := "the league's module has the newest go-redis, which Lockproof needs, and one module has one version of it"
	return []Lock{
		{Name: "machinery v2.0.13", Test: "machinery-2",
			Unjudged: "its lock does not compile with go-redis 9.23: v2/locks/redis/redis.go:67 calls Context, which go-redis " +
				"has removed. It has the code of version 1, which is in the table"},
		{Name: "dapr lock.redis, components-contrib v1.18.0", Test: "dapr",
			Unjudged: "does not compile with go-redis 9.23 (common/component/redis/v9client.go:295 converts a struct with " +
				"new fields); " + own +
				". Read, not run: SET NX with whole seconds and compare-and-delete, lock/redis/standalone.go:29, 100; " +
				"nothing is deleted after a SET without a reply"},
		{Name: "livekit LockRoom, livekit-server v1.13.11", Test: "livekit",
			Unjudged: "does not compile with the available versions of its requirements " +
				"(pkg/rtc/transport.go:391). Read, not run: " +
				"SET NX with a token and compare-and-delete, pkg/service/redisstore.go:81, 262-297"},
		{Name: "rockscache LockForUpdate v0.1.1", Test: "rockscache",
			Unjudged: "intentionally without expiry (client.go:250: until the year 2286), and part of a cache. Read, not " +
				"run: the key of a dead client stays"},
		{Name: "node-redlock", Test: "node-redlock", Language: "JavaScript", Adapter: "tools/kits/node/redlock.js",
			Unjudged: notInDebian},
		{Name: "Redisson", Test: "redisson", Language: "Java", Adapter: "tools/kits/java/RedissonLock.java",
			Unjudged: notInDebian},
		{Name: "ShedLock", Test: "shedlock", Language: "Java", Adapter: "tools/kits/java/ShedLock.java",
			Unjudged: notInDebian}, {Name: "RedLock.net", Test: "redlock-net", Language: "C#",
			Unjudged: "not run here, and no adapter: Debian 12 has no .NET. The protocol is in docs/client-protocol.md"},
	}
}

const notInDebian = "not run here: it is not in Debian. Its adapter follows its documents, and was not run with the " +
	"library"
