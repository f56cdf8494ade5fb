package exercise

import "example.org/lockproof/redlock"

// levels follow the order of the algorithm; package redlock has the sources of the rules.
var levels = []Level{
	{
		Name: "majority", Title: "How many servers are enough",
		Text: "The client sends SET NX to N independent servers at once. Each server grants the key to one client only, " +
			"and some servers may be down. How many servers must grant the key before the client holds the lock?",
		Questions: []Question{
			{Name: "quorum", Label: "Grants needed", Formula: &Formula{
				Hint: "a formula with N, the number of servers; division rounds down", Whole: true,
				Samples: []map[string]float64{{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}, {"n": 6}, {"n": 7}},
				More: "it is more than a majority: that is safe, but then fewer failed servers are enough to block all clients. " +
					"Require only a majority",
			}, Options: []Option{
				{Value: "N/2+1"}, {Value: "N/2", Off: off(redlock.Majority)}, {Value: "(N+1)/2", Off: off(redlock.Majority)},
			}},
			{Name: "list", Label: "The list contains one server twice", Options: []Option{
				{"lines", "each entry counts as one server", off(redlock.DistinctNodes)},
				{"servers", "the lock refuses such a list", nil},
			}},
		},
		Cases: []string{"half-is-not-majority", "one-node-twice"},
	},
	{
		Name: "validity", Title: "How long the lock is valid",
		Text: "Each server deletes the key after ttl. Sending the requests and waiting for the replies took elapsed, and " +
			"clocks differ by at most drift during the TTL. How long from now may the client rely on the lock?",
		Questions: []Question{
			{Name: "validity", Label: "Validity", Formula: &Formula{
				Hint: "a formula with ttl, elapsed and drift", Less: true,
				Samples: []map[string]float64{
					{"ttl": 1000, "elapsed": 7, "drift": 11}, {"ttl": 500, "elapsed": 30, "drift": 3},
					{"ttl": 2000, "elapsed": 1, "drift": 0.5},
				},
			}, Options: []Option{
				{Value: "ttl - elapsed - drift"}, {Value: "ttl - elapsed", Off: off(redlock.DriftMargin)},
				{Value: "ttl - drift", Off: off(redlock.ElapsedCheck)},
				{Value: "ttl", Off: off(redlock.ElapsedCheck, redlock.DriftMargin)},
			}},
			{Name: "clock", Label: "Clock that measures elapsed", Options: []Option{
				{"wall", "the wall clock (time of day)", off(redlock.MonotonicClock)},
				{"monotonic", "a monotonic clock, which nobody sets", nil},
			}},
		},
		Cases: []string{"slow-acquire", "pause-in-acquire", "drift-within-margin", "client-wall-clock"},
	},
	{
		Name: "token", Title: "Who owns the key",
		Text: "The key's value is a token. To release the lock, the client deletes the key on every server. A message " +
			"can arrive late: by then another client may hold the lock.",
		Questions: []Question{
			{Name: "token", Label: "A new random token is made", Options: []Option{
				{"call", "for each call, and all its attempts use it", off(redlock.FreshToken)},
				{"attempt", "for each attempt", nil},
			}},
			{Name: "compare", Label: "To release the lock, each server is told", Options: []Option{
				{"script", "to delete the key if it still has the client's token, atomically", nil},
				{"del", "to delete the key", off(redlock.CompareAndDelete)},
			}},
		},
		Cases: []string{"late-release", "release-by-plain-del"},
	},
	{
		Name: "release", Title: "After a failed attempt",
		Text: "An attempt has failed: too few servers granted the key, and some did not reply at all. Keys that the " +
			"attempt has set must not block other clients.",
		Questions: []Question{
			{Name: "where", Label: "The client releases the key", Options: []Option{
				{"everywhere", "on every server", nil},
				{"known", "on the servers that granted it", off(redlock.ReleaseEverywhere)},
			}},
			{Name: "when", Label: "It sends the release to a server", Options: []Option{
				{"once", "immediately", off(redlock.ReleaseAfterSet)},
				{"after", "after the server has replied to the SET, or its connection is closed", nil},
			}},
		},
		Cases: []string{"lost-reply", "late-set"},
	},
	{
		Name: "patience", Title: "When to give up, and when to try again",
		Text: "A server hangs: it accepts connections but never replies. And several clients try to acquire the lock at " +
			"the same moment: each gets the key on some servers, and none on a majority.",
		Questions: []Question{
			{Name: "timeout", Label: "The client waits for a server", Options: []Option{
				{"forever", "until it replies", off(redlock.NodeTimeout)},
				{"bounded", "for a short time, much less than the TTL", nil},
			}},
			{Name: "retry", Label: "The client retries", Options: []Option{
				{"random", "after a random delay", nil},
				{"fixed", "after a fixed delay", off(redlock.RetryJitter)},
			}},
		},
		Cases: []string{"hung-node", "retry-without-jitter"},
	},
	{
		Name: "extension", Title: "Extending the lock",
		Text: "The work takes longer than the TTL, so the client extends the lock: the servers keep the key for another " +
			"TTL. By then the key may belong to another client, and the request may not reach every server.",
		Questions: []Question{
			{Name: "owner", Label: "A server extends the key", Options: []Option{
				{"exists", "if the key exists", off(redlock.ExtendOwnership)},
				{"mine", "if the key has the client's token", nil},
			}},
			{Name: "enough", Label: "The lock is extended if", Options: []Option{
				{"majority", "a majority extended the key in time", nil},
				{"one", "one server extended the key in time", off(redlock.ExtendMajority)},
			}},
			{Name: "often", Label: "A watchdog extends the lock", Options: []Option{
				{"always", "as long as the program runs", off(redlock.BoundedExtensions)},
				{"bounded", "a limited number of times", nil},
			}},
		},
		Cases: []string{"extend-without-owner", "extend-on-minority", "endless-extension"},
	},
}

func off(rules ...redlock.Rule) []redlock.Rule { return rules }
