package league

import "slices"

// otherLanguages are the locks of other languages, as packaged by Debian: each is a worker of tools/kits, on real
// servers. An undeclared belief is the default.
func otherLanguages() []Lock {
	base := Lock{On: Single, RealTime: "its clients are processes",
		Belief: "for one TTL from the call, less clock drift: nothing is documented, and this is the shortest"}
	var all []Lock
	for _, l := range []Lock{{
		Name: "redis-py Lock", Test: "redis-py", Package: "python3-redis", Language: "Python",
		Worker: "/usr/bin/python3 tools/kits/python/redis_py.py",
		SetUp: "lock(key, timeout=TTL, thread_local=False) and acquire(blocking=False), on a client whose socket_timeout " +
			"is the node timeout",
		Promises: []Quote{{"``timeout`` indicates a maximum life for the lock in seconds. By default, it will remain " +
			"locked until release() is called.",
			"redis/lock.py:90-91"}},
		Findings: []Finding{lostReply("redis/lock.py:207-209, 219-227", "late-set", "lost-reply"),
			keyLeftByCancel("redis/lock.py:204-226")},
	}, {
		Name: "Symfony Lock", Test: "symfony", Package: "php-symfony-lock", Language: "PHP",
		Worker:   "php tools/kits/php/symfony_lock.php",
		SetUp:    "a Lock on a RedisStore on phpredis, with the TTL; refresh extends",
		Belief:   "for getRemainingLifetime()",
		Promises: []Quote{{"Returns the remaining lifetime in seconds.", "LockInterface.php:66"}},
		Findings: []Finding{{
			Scenarios: []string{"drift-within-margin"}, Confirm: []string{"drift-within-margin"},
			Short: "two clients hold the lock if the server's clock is slightly fast",
			What: "getRemainingLifetime() counts the whole TTL: on a server with a slightly fast clock the key expires " +
				"earlier, and two clients hold the lock",
			Place: "Key.php:71-78, Store/RedisStore.php:98: without a margin for drift",
			Reply: "it assumes clocks of one rate; the caller can choose a TTL with a margin",
		}, alsoIn(lostReply("Store/RedisStore.php:98-101: the exception goes to the caller, and nothing deletes",
			"lost-reply"), "given-back")},
	}, {
		Name: "malkusch/lock PHPRedisMutex", Test: "malkusch", Package: "php-malkusch-lock", Language: "PHP", On: Several,
		Worker: "php tools/kits/php/malkusch_lock.php",
		SetUp:  "a PHPRedisMutex on phpredis clients of five servers, one for each lock; TTL in whole seconds",
		Promises: []Quote{{"Mutex based on the Redlock algorithm using the phpredis extension.",
			"mutex/PHPRedisMutex.php:13"}},
	}, {
		Name: "the recipe of Redis's documents on node-redis", Test: "node-redis", Package: "node-redis",
		Language: "JavaScript",
		Worker:   "node tools/kits/node/node_redis.js",
		SetUp:    "SET NX PX with a random value, and a script that compares and deletes",
		Promises: []Quote{{"a simple locking system with Redis: SET resource-name anystring NX EX max-lock-time",
			"redis.io, SET, Patterns"}},
		Findings: []Finding{lostReply("the recipe: a SET without a reply is not undone", "late-set", "lost-reply")},
	}, {
		Name: "the recipe of Redis's documents on redis-rb", Test: "redis-rb", Package: "ruby-redis", Language: "Ruby",
		Worker: "ruby tools/kits/ruby/redis_rb.rb",
		SetUp:  "SET NX PX with a random value, and a script that compares and deletes",
		Promises: []Quote{{"a simple locking system with Redis: SET resource-name anystring NX EX max-lock-time",
			"redis.io, SET, Patterns"}},
		Findings: []Finding{lostReply("the recipe: a SET without a reply is not undone", "late-set", "lost-reply"),
			keyLeftByCancel("the recipe: a cancelled SET is not undone")},
	}} {
		l.RealTime = base.RealTime
		if l.On == "" {
			l.On = base.On
		}
		if l.Belief == "" {
			l.Belief = base.Belief
		}
		all = append(all, l)
	}
	return all
}

// lostReply is a result of no release, with a client library that does not repeat commands either.
func lostReply(place string, scenarios ...string) Finding {
	f := lateSet(place)
	f.Scenarios, f.Confirm = scenarios, scenarios
	f.What = "without a reply to the SET the caller gets an error and nothing deletes the key: no client can get the " +
		"lock for a whole TTL"
	return f
}

// alsoIn adds a scenario that shows the finding at times: a busy machine can delay a reply by itself.
func alsoIn(f Finding, scenario string) Finding {
	f.Scenarios = append(slices.Clone(f.Scenarios), scenario)
	return f
}

// keyLeftByCancel is the same for a caller that gives up.
func keyLeftByCancel(place string) Finding {
	return Finding{
		Scenarios: []string{"cancelled-acquire"}, Confirm: []string{"cancelled-acquire"},
		Short: "a cancelled acquire leaves its key",
		What:  "once the caller has cancelled, no key is deleted: a SET in progress leaves its key for a whole TTL",
		Place: place, Reply: "the timeout covers that",
	}
}
