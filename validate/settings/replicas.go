package settings

import (
	"fmt"
	"slices"
)

// follower is a replica among the servers of a policy's file.
type follower struct {
	at     Place // of what makes it one
	hidden bool  // that is in a file of its own, which only the server's command names
	// noAOF says where it is set that it has no append-only file, "" where it has one or
	// its settings are not known.
	noAOF string
}

// followers finds the replicas among the servers of a policy's file.
func (p *Policy) followers(disk Files, sources []source) (found []follower) {
	for _, o := range p.others {
		s, err := disk.readSettings("", nil, o.policy.Config)
		if err != nil || s.Apply(o.policy.Overrides) != nil {
			continue
		}
		for _, d := range slices.Backward(s.Directives) {
			if d.Name != "replicaof" && d.Name != "slaveof" {
				continue
			}
			if not("no one", "")(d.Args) {
				found = append(found, follower{at: d.Place, noAOF: o.withoutAOF(s), hidden: !inBlock(s, d) &&
					!slices.ContainsFunc(sources, func(s source) bool { return s.file == d.Place.File })})
			}
			break
		}
	}
	return found
}

// inBlock reports whether a directive stands in a text of the policy's own file.
func inBlock(s *Redis, d Directive) bool { return s.block != nil && d.Place.File == s.block.Name }

// withoutAOF says where it is set that a server has no append-only file, "" where that is not so or not known.
func (o node) withoutAOF(s *Redis) string {
	if s.AppendOnly || s.Unread != "" || o.policy.unread != "" {
		return ""
	}
	if at, set := s.At("appendonly"); set {
		return fmt.Sprintf("%s: %s says appendonly no", at, o.name)
	}
	if o.policy.Config != nil && len(s.Files) > 0 {
		return fmt.Sprintf("%s: %s is not told appendonly yes, and the default is no", s.Files[0], o.name)
	}
	return fmt.Sprintf("%s: %s is not told appendonly yes, and the default is no", o.at, o.name)
}

// NeverOnDisk reports whether WAITAOF for so many replicas never has as many: Redis counts
// none without an append-only file.
func (f *Failover) NeverOnDisk(wait int) bool {
	if f == nil || wait == 0 || len(f.WithoutAOF) == 0 || f.Uncounted != "" && len(f.WithoutAOF) < f.Replicas {
		return false
	}
	return f.Replicas-len(f.WithoutAOF) < wait
}
