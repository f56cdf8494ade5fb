package league

import (
	"os"
	"os/exec"
	"strings"
)

// checkouts are locks without packages: each is a worker of tools/kits and runs from a checkout of its repository,
// which a variable names. Without the variable they are skipped, and the page keeps their last results.
func checkouts() []Lock {
	return []Lock{{
		Name: "Redlock-rb", Test: "redlock-rb", Checkout: "LEAGUE_REDLOCK_RB", Language: "Ruby", On: Several,
		// Its redis-client is a gem, or in RUBYLIB.
		Worker:   "ruby -I $LEAGUE_REDLOCK_RB/lib tools/kits/ruby/redlock.rb",
		RealTime: "its clients are processes",
		SetUp: "Redlock::Client on five URLs, retry_count 0 (the kit retries), redis_timeout is the node timeout; " +
			"lock with extend extends",
		Belief: "for the returned validity",
		Promises: []Quote{{"This is an implementation of a proposed distributed lock algorithm with Redis.",
			"README.md:14"}},
		Findings: []Finding{{
			Scenarios: []string{"late-set"}, Confirm: []string{"late-set"},
			Short: "an orphan key can block everybody for one TTL",
			What: "a failed attempt is released on a new connection: a SET that timed out and arrives after that release " +
				"leaves its key for a whole TTL",
			Place: "lib/redlock/client.rb:306-310, 319, 217-219",
			Reply: "the TTL covers that, and a caller can choose a shorter one",
		}, {
			Scenarios: []string{"late-extension"}, Confirm: []string{"late-extension"},
			Short: "an extension that arrives after the release locks again",
			What: "lock(extend: ...) sets the key on a server without it, unless extend_only_if_locked is true: an unanswered " +
				"extension that arrives after the release restores the key, and no client gets the lock for a whole TTL",
			Place: "lib/redlock/client.rb:302, scripts.rb:17",
			Reply: "extend_only_if_locked: true does not restore it",
		}},
	}, {
		Name: "redlock-php", Test: "redlock-php", Checkout: "LEAGUE_REDLOCK_PHP", Language: "PHP", On: Several,
		Worker:   "php -d include_path=$LEAGUE_REDLOCK_PHP/src tools/kits/php/redlock_php.php",
		RealTime: "its clients are processes",
		SetUp:    "a RedLock on five phpredis connections, whose read timeout is the node timeout; one try (the kit retries)",
		Belief:   "for the returned validity",
		Promises: []Quote{{"This library implements the Redis-based distributed lock manager algorithm",
			"README.md:5"}},
		Findings: []Finding{{
			Scenarios: []string{"hung-node", "hung-node-later", "delayed-restart"}, Confirm: []string{"hung-node"},
			Short: "one hung server of five blocks everybody",
			What: "a server that does not answer makes lock() throw inside its loop: it skips the servers behind, those " +
				"before keep the key for a whole TTL, and no client gets the lock although four of five servers answer",
			Place: "src/RedLock.php:36-40, 97-100: no exception is caught; 57-59, the release, is not reached",
			Reply: "the caller can catch the exception and retry",
		}},
	}}
}

// Commit is its checkout's, or "".
func (l Lock) Commit() string {
	folder := os.Getenv(l.Checkout)
	if l.Checkout == "" || folder == "" {
		return ""
	}
	said, err := exec.Command("git", "-C", folder, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(said))
}
