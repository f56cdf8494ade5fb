package exercise

import "example.org/lockproof/redlock"

// levels follow the order of the algorithm; package redlock has the sources of the rules.
var levels = []Level{
	{
		Name: "majority", Title: "How many answers are enough",
		Text: "N independent servers are asked to set the key, all at once, and each says yes to one client only. " +
			"Some may be down. After how many answers of yes do you have the lock?",
		Questions: []Question{
			{Name: "quorum", Label: "Answers that are enough", Formula: &Formula{
				Hint: "a formula with N, the number of servers; a division rounds down", Whole: true,
				Samples: []map[string]float64{{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}, {"n": 6}, {"n": 7}},
				More: "it is more than a majority: that is safe, but then fewer failed servers are enough to keep everybody out. " +
					"Ask for no more than is needed",
			}, Options: []Option{
				{Value: "N/2+1"}, {Value: "N/2", Off: off(redlock.Majority)}, {Value: "(N+1)/2", Off: off(redlock.Majority)},
			}},
			{Name: "list", Label: "The list of servers names one of them twice", Options: []Option{
				{"lines", "each line of the list counts", off(redlock.DistinctNodes)},
				{"servers", "the lock refuses such a list", nil},
			}},
		},
		Cases: []string{"half-is-not-majority", "one-node-twice"},
	},
	{
		Name: "validity", Title: "For how long it is yours",
		Text: "The servers forget the key after ttl. You had to ask them, and to wait for their answers, which took " +
			"elapsed; and no two clocks run alike, by drift at the most. For how long may you believe in the lock, from " +
			"now on?",
		Questions: []Question{
			{Name: "validity", Label: "Time that is left", Formula: &Formula{
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
			{Name: "clock", Label: "The clock that measures what has elapsed", Options: []Option{
				{"wall", "the time of day", off(redlock.MonotonicClock)},
				{"monotonic", "a clock that is never set", nil},
			}},
		},
		Cases: []string{"slow-acquire", "pause-in-acquire", "drift-within-margin", "client-wall-clock"},
	},
	{
		Name: "token", Title: "Whose key it is",
		Text: "The key's value is a token. The lock is given back by deleting the key, on every server; and messages " +
			"can be late, so late that much has happened in between.",
		Questions: []Question{
			{Name: "token", Label: "The token is drawn", Options: []Option{
				{"call", "once for each call, and serves all its attempts", off(redlock.FreshToken)},
				{"attempt", "anew for each attempt", nil},
			}},
			{Name: "compare", Label: "To give the lock back, a server is told", Options: []Option{
				{"script", "to delete the key if it has my token, in one step", nil},
				{"del", "to delete the key", off(redlock.CompareAndDelete)},
			}},
		},
		Cases: []string{"late-release", "release-by-plain-del"},
	},
	{
		Name: "release", Title: "What is left behind",
		Text: "An attempt has failed: too few servers said yes, and some did not answer at all. What it has set must " +
			"not be in anybody's way.",
		Questions: []Question{
			{Name: "where", Label: "It is given back", Options: []Option{
				{"everywhere", "on every server", nil},
				{"known", "on the servers that said yes", off(redlock.ReleaseEverywhere)},
			}},
			{Name: "when", Label: "Each server is told so", Options: []Option{
				{"once", "at once", off(redlock.ReleaseAfterSet)},
				{"after", "after it has answered the SET, or can no longer do so", nil},
			}},
		},
		Cases: []string{"lost-reply", "late-set"},
	},
	{
		Name: "patience", Title: "When to give up, and when to try again",
		Text: "A server hangs: it takes connections and never answers. And several clients want the lock at the same " +
			"moment, each is first at some of the servers, and nobody at a majority.",
		Questions: []Question{
			{Name: "timeout", Label: "A server is waited for", Options: []Option{
				{"forever", "until it answers", off(redlock.NodeTimeout)},
				{"bounded", "for a short time, much less than the TTL", nil},
			}},
			{Name: "retry", Label: "The next attempt comes", Options: []Option{
				{"random", "after a delay that is drawn", nil},
				{"fixed", "after a fixed delay", off(redlock.RetryJitter)},
			}},
		},
		Cases: []string{"hung-node", "retry-without-jitter"},
	},
	{
		Name: "extension", Title: "A little longer",
		Text: "The work takes longer than the TTL, so the lock is extended: the servers are told to keep the key for " +
			"another TTL. It may be somebody else's by now, and not every server may hear of it.",
		Questions: []Question{
			{Name: "owner", Label: "A server extends the key", Options: []Option{
				{"exists", "if it is there", off(redlock.ExtendOwnership)},
				{"mine", "if it has my token", nil},
			}},
			{Name: "enough", Label: "The lock is extended if", Options: []Option{
				{"majority", "a majority has done so in time", nil},
				{"one", "one server has done so in time", off(redlock.ExtendMajority)},
			}},
			{Name: "often", Label: "A watchdog extends it", Options: []Option{
				{"always", "as long as the program runs", off(redlock.BoundedExtensions)},
				{"bounded", "a limited number of times", nil},
			}},
		},
		Cases: []string{"extend-without-owner", "extend-on-minority", "endless-extension"},
	},
}

func off(rules ...redlock.Rule) []redlock.Rule { return rules }
