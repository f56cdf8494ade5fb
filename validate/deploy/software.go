package deploy

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Software is a server's program, as its image or INFO establishes it. The name of a program does not: distributions
// have Valkey as redis-server.
type Software struct {
	Name    string // Redis or Valkey, "" if unknown
	Version string // "8" or "8.0.2", as much as is known
}

func (v Software) String() string { return strings.TrimSpace(v.Name + " " + v.Version) }

// release is a tag of a released version. Those before a release (8.0-rc1) have other endings.
var release = regexp.MustCompile(`^[^:@]*:([0-9]+(?:\.[0-9]+)*)(?:-(?:alpine|bookworm|bullseye|trixie)[0-9.]*)?$`)

// imageSoftware is what a known image runs. A digest outranks the tag beside it.
func imageSoftware(image string) (v Software) {
	switch {
	case redisImage.MatchString(image):
		v.Name = "Redis"
	case valkeyImage.MatchString(image):
		v.Name = "Valkey"
	}
	if m := release.FindStringSubmatch(image); m != nil && v.Name != "" {
		v.Version = m[1]
	}
	return v
}

// software is what INFO names. Valkey also names the Redis that it descends from.
func (r *Report) software() Software {
	if version := r.Info["valkey_version"]; version != "" {
		return Software{"Valkey", version}
	} else if version := r.Info["redis_version"]; version != "" && r.Info["server_name"] == "" {
		return Software{"Redis", version}
	}
	return Software{}
}

// identify takes what INFO says, which an image must not contradict.
func (s *Server) identify(r *Report) {
	found := r.software()
	if known := s.Software; known.Name != "" && found.Name != "" &&
		(known.Name != found.Name || !strings.HasPrefix(found.Version+".", strings.TrimPrefix(known.Version+".", "."))) {
		s.doubt(Program, r.Place, fmt.Sprintf("the running server is %s, and by what was read it is %s", found, known))
	}
	if found.Name != "" {
		s.Software = found
	}
}

// within reports whether the version surely lies between two: 702 is 7.2. The first counts, and the last does not.
func (v Software) within(from, before int) bool {
	var major, minor int
	known, _ := fmt.Sscanf(v.Version, "%d.%d", &major, &minor)
	first, last := 100*major+minor, 100*major+minor
	if known == 1 { // any version of it
		last += 99
	}
	return known > 0 && from <= first && last < before
}

// LacksWAITAOF reports whether the server is a Redis before 7.2.
func (v Software) LacksWAITAOF() bool { return v.Name == "Redis" && v.within(0, 702) }

// DoubtsWAITAOF returns why the answer of WAITAOF may come before the fsync of everysec, "" if it follows that: in
// Redis 7.2, and from 8.0 on. Redis 7.4 and Valkey answer once a write is in the page cache (redis/redis#13793).
func (s *Server) DoubtsWAITAOF() string {
	v := s.Software
	switch {
	case v.Name == "Redis" && (v.within(702, 703) || v.within(800, math.MaxInt)):
		return ""
	case v.Name == "Valkey" || v.within(703, 800):
		return fmt.Sprintf("%s answers WAITAOF before the fsync of everysec: Redis 7.2 and 8 do not", v)
	case v.Name != "":
		return fmt.Sprintf("which version of %s runs is not known, and 7.4 answers WAITAOF before the fsync: "+
			"give its INFO, or an image with a version", v)
	}
	return "which server answers WAITAOF is not known, and Valkey does so before the fsync: give its INFO"
}

// DoubtsWAITAOF is that of the first replica with a reason.
func (f *Failover) DoubtsWAITAOF() string {
	if len(f.Followers) == 0 {
		return "which servers the replicas are is not known, and some answer WAITAOF before the fsync: give their files"
	}
	for _, s := range f.Followers {
		why := s.DoubtsWAITAOF()
		if !s.Redis.AppendOnly {
			why = "WAITAOF counts no replica without an append-only file: say appendonly yes, or leave --waitaof out"
		}
		if why != "" {
			return fmt.Sprintf("%s: %s", s.Name, why)
		}
	}
	return ""
}

// RunsRedis is the server with a Redis whose WAITAOF follows the fsync, where it is not known to be another one.
func (s *Server) RunsRedis() *Server {
	changed := *s
	if v := s.Software; v.Name != "Valkey" && !v.within(703, 800) && !v.within(0, 702) {
		changed.Software = Software{"Redis", "8"}
	}
	return &changed
}
