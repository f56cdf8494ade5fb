package settings

import (
	"fmt"
	"slices"
	"strings"
)

// others takes a directive that is not about persistence or memory: it is harmless, or something about it has to be said,
// or it is not known. The last of a name counts, but for those of which each line adds something.
func (s *Redis) others(d Directive) {
	weigh, weighs := weighty[d.Name]
	switch {
	case !weighs && !slices.Contains(harmless, d.Name):
		s.Unknown = append(s.Unknown, d)
	case weighs:
		if d.Name != "rename-command" && d.Name != "loadmodule" {
			s.Remarks = slices.DeleteFunc(s.Remarks, func(r Remark) bool { return strings.HasPrefix(r.What, d.Name+" ") })
		}
		if remark := weigh(d); remark != nil {
			remark.Place = d.Place
			s.Remarks = append(s.Remarks, *remark)
		}
	}
}

// renamed puts in doubt what needs a command that is not there under its name.
func renamed(d Directive) *Remark {
	switch command := strings.ToUpper(strings.Join(d.Args[:min(1, len(d.Args))], "")); {
	case command == "SHUTDOWN":
		return &Remark{What: "rename-command renames SHUTDOWN, which the trials use", Doubts: []Crash{Shutdown}}
	case slices.Contains(lockCommands, command):
		return &Remark{What: fmt.Sprintf("rename-command renames %s, which locks need", command), Doubts: Crashes}
	}
	return nil
}

// lockCommands are those that locks on Redis are made of.
var lockCommands = strings.Fields(`SET SETNX GET GETSET GETDEL DEL UNLINK EVAL EVALSHA EVAL_RO EVALSHA_RO SCRIPT FCALL FUNCTION
	EXPIRE PEXPIRE EXPIREAT PEXPIREAT GETEX PTTL TTL EXISTS INCR HSET HGET HDEL HEXISTS HINCRBY HSETNX MULTI EXEC WATCH WAIT
	WAITAOF INFO HELLO AUTH SELECT PUBLISH SUBSCRIBE`)

// doubt makes a rule that puts the crashes in doubt when test finds the value
// to matter. What begins with the directive's name.
func doubt(why string, test func(args []string) bool, crashes ...Crash) func(Directive) *Remark {
	return func(d Directive) *Remark {
		if !test(d.Args) {
			return nil
		}
		return &Remark{What: fmt.Sprintf("%s %s", d.Name, why), Doubts: crashes}
	}
}

func always([]string) bool { return true }

// empty finds an empty value.
func empty(args []string) bool { return strings.Join(args, "") == "" }

// zero finds a replica's priority with which no Sentinel promotes it.
func zero(args []string) bool { return slices.Equal(args, []string{"0"}) }

const neverByName = "0: no Sentinel promotes this server where it is a replica; takeovers are tried as if another one were promoted"

// not finds every value but these.
func not(values ...string) func([]string) bool {
	return func(args []string) bool { return !slices.Contains(values, strings.ToLower(strings.Join(args, " "))) }
}

// weighty are directives whose effect on a lock is known and not measured here.
var weighty = map[string]func(Directive) *Remark{
	"replicaof": doubt("makes this server a replica, which takes no locks: judge the master's file, "+
		"and see failover-lock for what a failover does", not("no one", ""), Crashes...),
	"slaveof": doubt("makes this server a replica, which takes no locks: judge the master's file", not("no one", ""), Crashes...),
	"cluster-enabled": doubt("yes: the masters of a Redis Cluster are no independent nodes, and after a crash a replica "+
		"that may lack the lock takes over: see redis-cluster-failover and redis-cluster-one-slot", not("no"), Crashes...),
	"loadmodule":     doubt("loads a module, which can do anything to keys", always, Crashes...),
	"rename-command": renamed,
	"sentinel": doubt("makes this a Sentinel's file, which is no lock server's: judge its masters' redis.conf, "+
		"and see failover-lock for what a failover does", always, Crashes...),
	"shutdown-on-sigterm": doubt(
		"changes what a service manager's stop does, and the trials use the SHUTDOWN command", not("default"), Shutdown),
	"shutdown-on-sigint": doubt("changes what an interrupt does, and the trials use the SHUTDOWN command", not("default"), Shutdown),
	"aof-load-truncated": doubt("no: after a power loss the server may refuse to start until redis-check-aof "+
		"has mended its file; that is safe, and it is away until then", not("yes")),
	"dbfilename":       doubt("is empty, so that no snapshot can be saved, and a stop fails", empty, Crashes...),
	"replica-priority": doubt(neverByName, zero),
	"slave-priority":   doubt(neverByName, zero),
}

// harmless are the directives of Redis up to 8.0 and Valkey up to 9.0 that have no part in whether a node
// remembers a lock (CONFIG GET * of 7.0.15, and what redis.conf of later
// versions has beside it).
var harmless = strings.Fields(`
	dir acl-pubsub-default aclfile acllog-max-len active-defrag-cycle-max active-defrag-cycle-min active-defrag-ignore-bytes
	active-defrag-max-scan-fields active-defrag-threshold-lower active-defrag-threshold-upper active-expire-effort activedefrag
	activerehashing always-show-logo aof-disable-auto-gc aof-rewrite-incremental-fsync aof-timestamp-enabled aof-use-rdb-preamble
	aof_rewrite_cpulist appenddirname appendfilename auto-aof-rewrite-min-size bgsave_cpulist bind bind-source-addr bio_cpulist
	busy-reply-threshold client-output-buffer-limit client-query-buffer-limit cluster-allow-pubsubshard-when-down
	cluster-allow-reads-when-down cluster-allow-replica-migration cluster-announce-bus-port cluster-announce-hostname
	cluster-announce-human-nodename cluster-announce-ip cluster-announce-port cluster-announce-tls-port cluster-config-file
	cluster-link-sendbuf-limit cluster-migration-barrier cluster-node-timeout cluster-port cluster-preferred-endpoint-type
	cluster-replica-no-failover cluster-replica-validity-factor cluster-require-full-coverage cluster-slave-no-failover
	cluster-slave-validity-factor crash-log-enabled crash-memcheck-enabled daemonize databases dbfilename disable-thp dynamic-hz
	enable-debug-command enable-module-command enable-protected-configs hash-max-listpack-entries hash-max-listpack-value
	hash-max-ziplist-entries hash-max-ziplist-value hide-user-data-from-log hll-sparse-max-bytes hz ignore-warnings io-threads
	io-threads-do-reads jemalloc-bg-thread latency-monitor-threshold latency-tracking latency-tracking-info-percentiles
	lazyfree-lazy-eviction lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush
	lfu-decay-time lfu-log-factor list-compress-depth list-max-listpack-size list-max-ziplist-size list-max-ziplist-entries
	list-max-ziplist-value locale-collate logfile loglevel lua-time-limit masterauth masteruser max-new-connections-per-cycle
	max-new-tls-connections-per-cycle maxclients maxmemory-clients maxmemory-eviction-tenacity maxmemory-samples
	notify-keyspace-events oom-score-adj oom-score-adj-values pidfile port
	proc-title-template propagation-error-behavior protected-mode proto-max-bulk-len rdb-del-sync-files rdb-save-incremental-fsync
	rdbchecksum rdbcompression repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay repl-diskless-load repl-diskless-sync
	repl-diskless-sync-delay repl-diskless-sync-max-replicas repl-diskless-sync-period repl-ping-replica-period
	repl-ping-slave-period repl-timeout replica-announce-ip replica-announce-port replica-announced
	replica-full-sync-buffer-limit replica-ignore-disk-write-errors replica-ignore-maxmemory replica-lazy-flush
	replica-read-only replica-serve-stale-data requirepass sanitize-dump-payload server_cpulist set-max-intset-entries
	set-max-listpack-entries set-max-listpack-value set-proc-title shutdown-timeout slave-announce-ip slave-announce-port
	slave-ignore-maxmemory slave-lazy-flush slave-read-only slave-serve-stale-data slowlog-log-slower-than
	slowlog-max-len socket-mark-id stop-writes-on-bgsave-error stream-node-max-bytes stream-node-max-entries supervised
	syslog-enabled syslog-facility syslog-ident tcp-backlog tcp-keepalive timeout tls-allowlist tls-auth-clients tls-ca-cert-dir
	tls-ca-cert-file tls-cert-file tls-ciphers tls-ciphersuites tls-client-cert-file tls-client-key-file
	tls-client-key-file-pass tls-cluster tls-dh-params-file tls-key-file tls-key-file-pass tls-port tls-prefer-server-ciphers
	tls-protocols tls-replication tls-session-cache-size tls-session-cache-timeout tls-session-caching tracking-table-max-keys
	unixsocket unixsocketperm user zset-max-listpack-entries zset-max-listpack-value zset-max-ziplist-entries
	zset-max-ziplist-value
	availability-zone cluster-blacklist-ttl cluster-ping-interval cluster-slot-stats-enabled commandlog-execution-slower-than
	commandlog-large-reply-max-len commandlog-large-request-max-len commandlog-reply-larger-than commandlog-request-larger-than
	commandlog-slow-execution-max-len dual-channel-replication-enabled events-per-io-thread extended-redis-compatibility
	lua-enable-insecure-api prefetch-batch-max-size primaryauth primaryuser rdb-version-check`)
