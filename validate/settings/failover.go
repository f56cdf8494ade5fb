package settings

import (
	"fmt"
	"regexp"
	"strings"
)

// failoverWord is what says that a replica may take a server's place.
var failoverWord = regexp.MustCompile(`(?i)sentinel|(?:replica|slave)[-_]?of\b|replication[-_]mode`)

// NoOne is how a server is told that it is nobody's replica.
var noOne = regexp.MustCompile(`(?i)(?:replica|slave)of["']?[,:\s]+["']?no["']?[,\s]+["']?one`)

// failover puts every crash in doubt where a file speaks of Sentinels or of replicas:
// after a crash one of these may be made the master, before it has heard of the locks.
// Replication is asynchronous (redis.io, "Distributed Locks with Redis", Why
// failover-based implementations are not enough).
func failover(sources []source) []Remark {
	var remarks []Remark
	for _, s := range sources {
		for i, line := range strings.Split(string(s.data), "\n") {
			line, _, _ = strings.Cut(line, " #")
			if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.HasPrefix(strings.TrimSpace(line), ";") {
				continue
			}
			word := failoverWord.FindString(noOne.ReplaceAllString(line, ""))
			if word == "" {
				continue
			}
			remarks = append(remarks, Remark{Place: Place{s.file, i + 1}, Doubts: Crashes, What: fmt.Sprintf(
				"%q says that a replica may take this server's place: after a crash it may be made the master before it has "+
					"the lock, whatever was fsynced (replication is asynchronous; `lockproof run failover-lock --on local` "+
					"shows it), which is not part of the trials", word)})
			break
		}
	}
	return remarks
}
