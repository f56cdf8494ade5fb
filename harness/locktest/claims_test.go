package locktest_test

import (
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/internal/needs"
)

// claim is a lock, and what its test says of it. A child process runs the test, as it may fail.
type claim struct {
	what, name string
	test       func(*testing.T)
	fails      rows // exactly these; none: the test passes
	says       says // with any blanks between the words
}

type (
	rows []string
	says []string
)

// noRow: the test fails, and runs no row.
var noRow = rows{"(none is run)"}

var (
	on        = locktest.Scenarios
	oneServer = onOne(rand.Text, owned)
	expiring  = locktest.Believes(locktest.FromCall)
	released  = locktest.Believes(locktest.UntilReleased)
)

var claims = slices.Concat(declarations, preflights, behaviours, mistakes)

// What a test may declare of its lock.
var declarations = []claim{
	{"three servers: what needs five, or one, is not applicable", "on-three",
		with(good, safety, locktest.Nodes(3), on("late-release", "quorum-erosion", "failover-lock")), nil,
		says{"TestVictims/on-three, three servers", "--- PASS: TestVictims/on-three/late-release",
			"NOT APPLICABLE: on 3 servers it is another situation than on 5, as the reference shows",
			"NOT APPLICABLE: the situation needs one server alone, and has no form on 3"}},
	{"no belief: the rows that depend on it are named", "undeclared",
		with(oneServer, safety, on("slow-acquire", "client-pause")), rows{"slow-acquire"},
		says{"(Believes(locktest.FromCall)), the bugs are 1 fewer",
			"(Believes(locktest.UntilReleased)), the bugs are 1 more"}},
	{"no TTL: the rows that depend on it are named", "unhurried",
		with(unhurried, expiring, on("healthy-contention", "late-set")), rows{"healthy-contention", "late-set"},
		says{"(TTL(30*time.Second)), the bugs are 1 fewer, since some delay of the lock or of its client does not grow " +
			"with the TTL: healthy-contention details:"}},
	{"a bug that is expected and mended fails", "expected-in-vain",
		with(majority, safety, on("healthy-contention"), locktest.Expect("healthy-contention", locktest.Violated)),
		rows{"healthy-contention"}, says{"healthy-contention is expected to be violated, and is not any more"}},
	{"a limit of the lock's class is skipped", "limit", with(oneServer, safety, on("flushall")), nil,
		says{"--- SKIP: TestVictims/limit/flushall", "LIMIT: mutual-exclusion: violated, as by the reference of its class",
			"limit 1 flushall"}},
	{"a limit fails if strict", "strict", with(oneServer, safety, on("flushall"), locktest.Strict()),
		rows{"flushall"}, nil},
	{"a setup that the lock refuses is skipped", "refuses",
		with(refusing, safety, on("half-is-not-majority", "healthy-contention")), nil,
		says{"--- SKIP: TestVictims/refuses/half-is-not-majority", "refuses this setup: the lock refuses this setup",
			"--- PASS: TestVictims/refuses/healthy-contention"}},
	{"servers with a later command are chosen", "by-delex-on-8.4",
		with(releasingByDelex, expiring, on("release-by-plain-del"), locktest.OnServer("redis-8.4")), nil,
		says{"--- PASS: TestVictims/by-delex-on-8.4/release-by-plain-del"}},
	{"a key has another name on servers", "prefixed", with(prefixing, safety, on("release-by-plain-del")),
		rows{"release-by-plain-del"}, says{"c1's key expires on n1"}},
	{"a library may leave goroutines behind, and a note names the code that started them", "leaves-behind",
		with(leaving(false), few, locktest.LeavesBehind("golang.org/x/sync"), locktest.Explore(time.Second)), nil,
		says{"note: it leaves goroutines behind, which LeavesBehind allows: " +
			"golang.org/x/sync/errgroup.(*Group).Go (errgroup.go:",
			"--- PASS: TestVictims/leaves-behind/healthy-contention", "--- PASS: TestVictims/leaves-behind/explore"}},
	{"without a fencing token, a store that checks them is not applicable", "no-fence",
		with(oneServer, on("client-pause-fenced")), noRow,
		says{"issues no fencing tokens, which this scenario's store checks"}},
}

// What is found before any row is run, without faults, and what is noted then.
var preflights = []claim{
	{"goroutines are left behind", "leaks", with(renewing(false), few), noRow,
		says{"the lock leaves 3 goroutines (victims_test.go:", "give the lock a Close()"}},
	{"goroutines of its own are left behind, beside the library's", "leaves-own-behind",
		with(leaving(true), few, locktest.LeavesBehind("golang.org/x/sync")), noRow,
		says{"the lock leaves 1 goroutine (victims_test.go:"}},
	{"a lease cannot be extended", "extends-in-vain", with(extendsInVain, few), noRow,
		says{"the lock was not extended, without faults and other clients: ", "no such script"}},
	{"a TTL of the catalogue is no whole second", "whole-seconds", with(wholeSeconds, few), noRow,
		says{`the lock's key expires before its lease ends, without faults: "k1" expires 1s after it is set, ` +
			"and its lease is valid for 1.5s"}},
	{"the lock is never granted", "never-granted",
		with(acquiring(func() error { return errors.New("out of order") })), noRow,
		says{"the last attempt: out of order"}},
	{"the lock cannot be made", "not-made",
		with(func(locktest.Env) (locktest.Lock, error) { return nil, errors.New("no licence") }), noRow, says{"no licence"}},
	{"neither a lock nor an error is returned", "nothing-made",
		with(func(locktest.Env) (locktest.Lock, error) { return nil, nil }), noRow,
		says{"gave neither a lock nor an error"}},
	{"the lock always panics", "always-panics", with(acquiring(func() error { panic("always") })), noRow,
		says{"the lock fails without faults"}},
	{"the lock spins", "spins", with(acquiring(spin), locktest.ProgressTimeout(time.Second)), noRow,
		says{"no progress in 1s of real time"}},
	{"a lease that should say its validity does not", "untold", with(majority, locktest.Believes(locktest.ByLease)), noRow,
		says{"the lease has neither Validity nor Until"}},
	{"a release never returns", "release-hangs", with(hanging(true, false), few), noRow,
		says{"without faults and other clients, c1's release, whose caller had given up, had not " +
			"returned after"}},
	{"Close never returns", "close-hangs", with(hanging(false, true), few), noRow,
		says{"the lock's Close has not returned for"}},
	{"a command that the virtual cluster lacks is sent at once", "blocking-at-once",
		with(ignoring(true, "BLPOP", "released", 1), few), noRow,
		says{"BLPOP is not modelled by the virtual cluster: use the local one"}},
	{"a command of later servers is sent, and they are named", "by-delex",
		with(releasingByDelex, expiring, on("release-by-plain-del")), noRow,
		says{"the lock was not released, without faults and other clients",
			`It works on redis-8.4: add locktest.OnServer("redis-8.4")`}},
	{"one key for all callers' keys is noted", "on-one-key", with(onOneKey, few), nil,
		says{`note: it sets ["lock"], which does not contain the caller's key`}},
	{"a lock without a release is tested", "no-release", with(unreleased, few), rows{"healthy-contention"},
		says{"--- SKIP: TestVictims/no-release/restart-without-persistence"}},
	{"a lock that renews itself is believed until released, and more is noted", "renews", with(renewing(true), few), nil,
		says{"believed until released (it renews itself)",
			"note: the lock renews its key by itself, but declares no belief",
			"note: go-redis ignores the deadline of its caller's context"}},
}

// What locks do wrong, and the rows that show it.
var behaviours = []claim{
	{"a lock on one server that deletes any owner's key", "plain-del", with(onOne(rand.Text, plain), safety),
		rows{"release-by-plain-del", "late-release", "release-by-get-then-del", "partition-during-contention",
			"shared-lock-object", "slow-acquire", "pause-in-acquire", "stopped-in-acquire", "stopped-in-release",
			"drift-within-margin", "short-ttl"}, nil},
	{"a lock on one server that is believed from the return", "on-one-from-return",
		with(oneServer, safety, locktest.Believes(locktest.FromReturn)),
		rows{"slow-acquire", "pause-in-acquire", "stopped-in-acquire", "drift-within-margin", "short-ttl"}, nil},
	{"a fault affects a script like SET: one token for all attempts", "by-script-one-token",
		with(byScript(oneToken), safety, on("late-release", "slow-acquire"), expiring), rows{"late-release"}, nil},
	{"a fault affects a script like SET: a token for each attempt", "by-script-fresh-tokens",
		with(byScript(func() func() string { return rand.Text }), safety, on("late-release", "slow-acquire"), expiring), nil,
		says{"--- PASS: TestVictims/by-script-fresh-tokens/late-release",
			"--- PASS: TestVictims/by-script-fresh-tokens/slow-acquire"}},
	{"a lock that ignores its context returns too late", "deaf", with(deaf, on("cancelled-wait")), rows{"cancelled-wait"},
		says{"cancellation: violated, and kept by the reference of its class", "the acquire returned at",
			"c2's caller cancels"}},
	{"a lock that ignores its context never returns", "stuck", with(stuck, on("cancelled-wait")), rows{"cancelled-wait"},
		says{"cancellation: violated, and kept by the reference of its class", "and was still waiting",
			"c2's caller cancels"}},
	{"fencing tokens that grow", "fence-grows",
		with(fenced(func(count int64) int64 { return count }), on("client-pause-fenced")), nil,
		says{"--- PASS: TestVictims/fence-grows/client-pause-fenced"}},
	{"fencing tokens that stay", "fence-stays", with(fenced(func(int64) int64 { return 7 }), on("client-pause-fenced")),
		rows{"client-pause-fenced"}, says{"fencing: violated, and kept by the reference of its class"}},
	{"fencing tokens below 0", "fence-negative", with(fenced(func(count int64) int64 { return -count }),
		on("client-pause-fenced")), rows{"client-pause-fenced"}, says{"without a fencing token", "█ holding"}},
	// Each shows in one row, whatever the lock's commands are: two leases follow within a millisecond, a client stops at
	// each of its messages, or every expiring key expires.
	{"fencing tokens from the server's time", "by-server-time",
		with(counted(byServerTime), expiring, on("fencing-same-instant")),
		rows{"fencing-same-instant"}, says{"fencing: violated, and kept by the reference of its class"}},
	{"fencing tokens from the server's time in microseconds", "by-server-microseconds",
		with(counted(byServerMicroseconds), expiring, on("clock-jump-back")),
		rows{"clock-jump-back"}, says{"fencing: violated, and kept by the reference of its class"}},
	{"fencing tokens by GET and SET", "by-get-and-set", with(counted(byGetAndSet), expiring, on("stopped-in-acquire")),
		rows{"stopped-in-acquire"}, says{"fencing: violated, and kept by the reference of its class"}},
	{"fencing tokens from a counter that expires", "by-expiring-counter",
		with(counted(byExpiringCounter), expiring, on("fencing-counter-expires")),
		rows{"fencing-counter-expires"}, says{"fencing: violated, and kept by the reference of its class"}},
	// The lock checks its clock before it extends, but the network can delay the extension.
	{"an extension of the owner's key only", "extends-if-owned",
		with(extending(extendIfOwned), on("extend-without-owner")), nil, nil},
	{"an extension of another client's key", "extends-by-set-xx",
		with(extending(extendBySetXX), on("extend-without-owner")), rows{"extend-without-owner"},
		says{"mutual-exclusion: violated, and kept by the reference of its class"}},
	// Another client takes the key between the two commands, while the holder is stopped and believes in its lease.
	{"an extension by a release and a new acquire", "extends-by-del-then-set",
		with(extending(extendByDelThenSet), on("stopped-in-extend")), rows{"stopped-in-extend"},
		says{"mutual-exclusion: violated, and kept by the reference of its class"}},
	// The lease ends by a monotonic clock, but whose turn it is depends on the clients' times of day.
	{"expiry by the clients' times of day", "expires-by-time-of-day",
		with(expiringByTimeOfDay, on("client-wall-clock")), rows{"client-wall-clock"},
		says{"mutual-exclusion: violated, and kept by the reference of its class"}},
	// The client is stopped after it has read a dead holder's value.
	{"a dead holder's value is replaced if it is unchanged", "steals-if-unchanged",
		with(stealing(ifUnchanged), safety, on("stopped-in-acquire")), nil,
		says{"--- PASS: TestVictims/steals-if-unchanged/stopped-in-acquire"}},
	{"a dead holder's value is replaced, whatever it has become", "steals-by-set",
		with(stealing(bySet), safety, on("stopped-in-acquire")), rows{"stopped-in-acquire"},
		says{"mutual-exclusion: violated, and kept by the reference of its class"}},
	{"a client relies on a lease for as long as it reports, renewals included", "renews-and-reports",
		with(reporting(extendIfOwned), on("delayed-write", "client-wall-clock", "late-renewal")), nil,
		says{"believed for as long as the lease says"}},
	{"a late renewal by SET XX takes the next holder's key, which stays when that holder has died", "renews-by-set-xx",
		with(reporting(extendBySetXX), on("late-renewal")), rows{"late-renewal"}, nil},
	{"a lease's context ends the belief at each lost extension", "told-in-time",
		with(watching(func(extended bool, err error) bool { return err != nil || !extended }), safety,
			on("watchdog-cut-off"), released), nil, says{"--- PASS: TestVictims/told-in-time/watchdog-cut-off"}},
	{"a lease's context ends at errors only", "told-unless-refused",
		with(watching(func(_ bool, err error) bool { return err != nil }), safety, on("watchdog-cut-off"), released),
		rows{"watchdog-cut-off"}, nil},
	{"a lease's context never ends", "told-too-late",
		with(watching(func(bool, error) bool { return false }), safety, on("watchdog-cut-off"), released),
		rows{"watchdog-cut-off"}, says{"believed until released or until the lease's context ends (declared)"}},
	// A client on another client's connections is not affected by its own faults.
	{"clients that share a pool fail", "shares-a-pool", with(sharing(&sync.Once{}), on("holder-crashes")),
		rows{"holder-crashes"},
		says{"FAILED: the lock was asked, and has never connected over its client's own links"}},
	// A lock may go on without a command that the cluster lacks, as it never would on a server.
	{"a blocking command that is not modelled is no holds", "blocking-if-held",
		with(ignoring(false, "BLPOP", "released", 1), expiring, on("healthy-contention")), nil,
		says{"BLPOP is not modelled by the virtual cluster: use the local one", "undecided 1"}},
	{"a function that is not modelled is no holds", "function-if-held",
		with(ignoring(false, "FCALL", "wait", 0), expiring, on("healthy-contention")), nil,
		says{"FCALL is not modelled by the virtual cluster: use the local one", "undecided 1"}},
}

// Mistakes in the options of Run.
var mistakes = []claim{
	{"an unknown scenario", "no-such-scenario", with(majority, on("late-relase")), noRow,
		says{`unknown scenario "late-relase"; did you mean "late-release"?`}},
	{"an unknown property", "no-such-property", with(majority, locktest.Properties("exclusion")), noRow,
		says{`there is no "exclusion": there are mutual-exclusion`}},
	{"an unknown cluster", "no-such-cluster", with(majority, locktest.On("moon")), noRow,
		says{`unknown cluster "moon": want one of virtual, local`}},
	{"servers that the cluster does not have", "no-such-server", with(majority, locktest.OnServer("redis-9")), noRow,
		says{`locktest.OnServer: the virtual cluster has no "redis-9": it has redis-7.0, redis-8.4`}},
	{"the name of a lock of Lockproof", "taken-name", with(majority, locktest.Named("redsync")), noRow,
		says{"redsync is a lock of Lockproof's own"}},
	{"scenarios that the lock cannot run", "nothing-fits", with(majority, on("extend-too-late")), noRow,
		says{"none of the scenarios chosen can be run with this lock"}},
	{"the test's own package as a library that leaves goroutines behind", "allows-own-behind",
		with(leaving(true), few, locktest.LeavesBehind("example.org/lockproof/harness/locktest_test")), noRow,
		says{"locktest.LeavesBehind: example.org/lockproof/harness/locktest_test is the test's own package"}},
	{"a search for schedules in real time", "explored-in-real-time",
		with(good, locktest.On("local"), locktest.Explore(time.Minute)), noRow,
		says{"locktest.Explore: schedules are run in virtual time, and the local cluster is in real time"}},
}

// searched are the locks of tests that have more to say.
var searched = map[string]func(*testing.T){
	"from-return": with(majority, safety, locktest.Believes(locktest.FromReturn), locktest.Trials(2), locktest.Seed(7),
		on("healthy-contention", "slow-acquire", "pause-in-acquire", "late-release")),
	"its-ttl":         with(unhurried, expiring, on("healthy-contention"), locktest.TTL(2*time.Second)),
	"explored":        with(deletingAll, safety, on("restart-without-persistence"), locktest.Explore(time.Minute)),
	"explored-mended": with(good, safety, few, locktest.Explore(3*time.Second)),
	"explored-panics": with(panicking, few, locktest.Explore(time.Minute)),
	"explored-on-one": with(oneServer, safety, few, expiring, locktest.Explore(5*time.Second)),
	"in-turn": with(inTurn, on("hung-node", "restart-without-persistence", "delayed-restart", "restart-delay-too-short",
		"late-set", "lost-reply")),
	"patient": with(patient, on("hung-node", "restart-without-persistence", "late-release", "lost-reply")),
	"real-time": with(onOneFor(time.Second, rand.Text, plain), safety, on("client-pause", "release-by-plain-del"),
		locktest.RealTime()),
}

// In a child process it runs the locks, some of which are bad.
func TestVictims(t *testing.T) {
	if os.Getenv(victimsVariable) != "" {
		for _, v := range claims {
			t.Run(v.name, v.test)
		}
		for name, test := range searched {
			t.Run(name, test)
		}
		return
	}
	needs.Long(t, "it runs go test in another process for each lock")
	for _, v := range claims {
		t.Run(v.what, func(t *testing.T) {
			r := victim(t, v.name)
			if slices.Equal(v.fails, noRow) {
				require.False(t, r.passed, r.output)
				require.NotRegexp(t, `(PASS|FAIL): TestVictims/`+v.name+"/", r.output, "no row is run")
			} else {
				r.failed(t, "TestVictims/"+v.name, v.fails...)
			}
			words := strings.Join(strings.Fields(r.output), " ")
			for _, text := range v.says {
				require.Contains(t, words, text)
			}
		})
	}
}

func with(lock locktest.New, options ...locktest.Option) func(*testing.T) {
	return func(t *testing.T) { locktest.Run(t, lock, options...) }
}
