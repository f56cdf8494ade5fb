package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/validate/settings"
)

// Failover describes the replicas that may be promoted in a server's place.
type Failover struct {
	// Replicas is their number, at least.
	Replicas int `json:"replicas"`
	// Uncounted says why there may be more; "" if there are not.
	Uncounted string `json:"uncounted,omitempty"`
	// After is the shortest time from a master's silence to a promotion; 0: at once.
	After time.Duration `json:"after"` // nanoseconds
	Why   string        `json:"why"`   // one clause
	// Never: no Sentinel promotes a replica; only an operator does.
	Never bool `json:"never,omitempty"`
	// Followers are the replicas that were read.
	Followers []*Server `json:"-"`
}

// MostReplicas is the largest number of replicas in a trial.
const MostReplicas = 9

// PromotedAtOnce is a failover with at least this many replicas, and nothing else known.
func PromotedAtOnce(replicas int) *Failover {
	return &Failover{Replicas: max(replicas, 1), Uncounted: "nothing that was read says how many replicas there are",
		Why: "nothing that was read keeps a replica from being promoted at once"}
}

func (d *Deployment) failover() {
	var followers []*Server
	for _, s := range d.Servers {
		if master, _ := s.Redis.Follows(); master != "" && !d.isAnothers(master) {
			followers = append(followers, s)
		}
	}
	if len(followers) == 0 && len(d.sentinels) == 0 {
		return
	}
	f := PromotedAtOnce(len(followers))
	f.Followers = followers
	never := len(followers) > 0
	if len(followers) > 0 {
		f.Replicas, f.Uncounted = 0, ""
	}
	for _, s := range followers {
		f.Replicas += max(s.count, 1)
		if s.Several() {
			f.Uncounted = fmt.Sprintf("%s: it is not known how many of %s run", s.Place, s.Name)
		}
		never = never && s.Redis.Last("replica-priority") == "0"
	}
	if f.Replicas > MostReplicas {
		f.Uncounted = fmt.Sprintf("there are %d, and trials have %d", f.Replicas, MostReplicas)
		f.Replicas = MostReplicas
	}
	f.Never = never && len(d.sentinels) > 0
	for i, c := range d.sentinels {
		after, why := c.promotes()
		f.Never = f.Never && after > 0 // otherwise a script may promote one
		if i == 0 || after < f.After {
			f.After, f.Why = after, why
		}
	}
	d.Failover = f
}

// isAnothers reports whether a master's name leads to other masters than the judged one, and to nothing else.
func (d *Deployment) isAnothers(name string) (others bool) {
	for _, s := range d.Servers {
		if !slices.Contains(s.aliases, name) {
			continue
		}
		if master, _ := s.Redis.Follows(); s == d.Server || master != "" {
			return false
		}
		others = true
	}
	return others
}

// takeover sets the takeover link. Another server may be a replica if its program or settings are not known.
func (d *Deployment) takeover() {
	s := d.Server
	for _, other := range d.Servers {
		doubted := slices.ContainsFunc(other.Unsettled(settings.Kill), func(l Link) bool { return l.Name != Restart })
		if follows, _ := other.Redis.Follows(); other != s && follows == "" && doubted {
			s.doubt(Takeover, other.Place, other.Name+" may be a replica of it, and be promoted: its program or its settings "+
				"are not known")
		}
	}
	for _, r := range d.reports {
		n := r.Info["connected_slaves"]
		if n != "" && n != "0" && (d.Failover == nil || n != strconv.Itoa(d.Failover.Replicas)) {
			s.doubt(Takeover, r.Place,
				n+" replicas are connected, and one of them may be made the master before it has the lock: give --replicas, "+
					"and --sentinel or --wait")
		}
	}
	if d.Failover == nil {
		s.assume(Takeover, s.Place, "no replica is promoted in its place")
	} else if broken := s.links(settings.Kill, func(l Link) bool { return l.Name == Takeover }); len(broken) > 0 {
		d.Failover.Uncounted, d.Failover.Never = broken[0].String(), false
	}
}

// JudgesTakeovers marks the takeovers as judged by trials, whose rows say what is not known.
func (s *Server) JudgesTakeovers(f *Failover) {
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.Name == Takeover })
	s.establish(Takeover, s.Place, "its replicas' takeovers are judged")
	if f.Uncounted == "" {
		s.assume(Takeover, s.Place, "the number of its replicas is %d", f.Replicas)
	}
	if f.After > 0 || f.Never {
		s.assume(Takeover, s.Place, "nothing promotes a replica sooner than the Sentinels that were read")
	}
}

// promotes returns how soon a Sentinel with this file promotes a replica. One with an unread file may not wait at all.
func (c *configFile) promotes() (after time.Duration, why string) {
	text, err := c.text, error(nil)
	if c.file != "" {
		text, err = readText(c.file)
	} else if c.name == "" {
		err = errors.New("it was not read")
	}
	file := cmp.Or(c.name, c.file, c.path, "that its command should name")
	if err == nil {
		after, why, err = parseSentinel(file, text)
	}
	if err != nil {
		why = fmt.Sprintf("by a Sentinel with the file %s: %v", file, err)
	}
	return after, why
}

// downAfterDefault is Sentinel's default for down-after-milliseconds.
const downAfterDefault = 30 * time.Second

// parseSentinel reads from a sentinel.conf how soon a replica is promoted: not before the master has been silent for
// down-after-milliseconds.
func parseSentinel(name, data string) (after time.Duration, why string, err error) {
	r, err := settings.ParseRedis(name, data)
	if err != nil {
		return 0, "", err
	}
	waits, at := map[string]time.Duration{}, map[string]settings.Place{}
	odd := slices.Clone(r.Unknown) // one may shorten the wait, or run a script that promotes a replica
	for _, d := range r.Directives {
		if d.Name != "sentinel" || len(d.Args) == 0 {
			continue
		}
		reboots := strings.EqualFold(d.Args[0], "master-reboot-down-after-period") && d.Args[len(d.Args)-1] == "0" // off
		if !reboots && !slices.Contains(allowed["sentinel"], strings.ToLower(d.Args[0])) {
			odd = append(odd, d)
		}
		if len(d.Args) < 2 {
			continue
		}
		ms, err := strconv.Atoi(d.Args[len(d.Args)-1])
		_, set := waits[d.Args[1]]
		switch command := strings.ToLower(d.Args[0]); {
		case command == "monitor" && !set:
			waits[d.Args[1]], at[d.Args[1]] = downAfterDefault, d.Place
		case command == "down-after-milliseconds" && err == nil && ms >= 0:
			waits[d.Args[1]] = time.Duration(min(ms, int(forever.Milliseconds()))) * time.Millisecond
			at[d.Args[1]] = d.Place
		}
	}
	if len(waits) == 0 {
		return 0, "", &settings.Problem{Place: settings.Place{File: name},
			What: "no line says sentinel monitor, so this is no Sentinel's file", Right: "give the sentinel.conf"}
	}
	if len(odd) > 0 {
		return 0, fmt.Sprintf("not understood: %s of a Sentinel's file (%s), by which a replica may be promoted at once",
			strings.Join(append([]string{odd[0].Name}, odd[0].Args[:min(1, len(odd[0].Args))]...), " "), odd[0].Place), nil
	}
	for _, master := range sortedKeys(waits) { // the lock may be on any of the masters
		if wait := waits[master]; why == "" || wait < after {
			after, why = wait, fmt.Sprintf("Sentinel waits for down-after-milliseconds, %s (%s)", wait, at[master])
		}
	}
	return after, why, nil
}

// sentinel finds the configuration file of a Sentinel in a container.
func (d *Deployment) sentinel(c container) {
	s := &Server{config: &configFile{place: c.at, unreadReason: "its command names none"}}
	for _, w := range c.words() {
		if strings.HasPrefix(w, "/") && strings.HasSuffix(w, ".conf") {
			s.config.path = w
		}
	}
	c.storage(s)
	s.loadConfig()
	if !slices.ContainsFunc(d.sentinels, func(given *configFile) bool {
		return given.place.File == "" && path.Base(given.path) == path.Base(s.config.path)
	}) {
		d.sentinels = append(d.sentinels, s.config)
	}
}
