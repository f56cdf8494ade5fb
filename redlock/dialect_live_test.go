package redlock

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// release is a server of some version, and what it allows: what a node may become under a
// live client.
type release struct {
	info  string
	knows []string
	noLua bool
}

// releases are some of those that a cluster may be made of while it is being upgraded.
var releases = map[string]release{
	"redis-7.0":                   {redis70Info, nil, false},
	"redis-8.6":                   {redis86Info, []string{"DELEX", "IFEQ"}, false},
	"valkey-8.1":                  {valkey81Info, []string{"IFEQ"}, false},
	"valkey-9.1":                  {valkey91Info, []string{"DELIFEQ", "IFEQ"}, false},
	"redis-8.6 without Lua":       {redis86Info, []string{"DELEX", "IFEQ"}, true},
	"valkey-9.1 without Lua":      {valkey91Info, []string{"DELIFEQ", "IFEQ"}, true},
	"no Redis, but says it's 8.6": {redis86Info, nil, false},
}

// becomes replaces a server by one of another release, which has its keys.
func (s *speaking) becomes(name string, run int) {
	r := releases[name]
	s.info, s.noLua, s.forgot = fmt.Sprintf(r.info, run), r.noLua, true
	clear(s.knows)
	for _, command := range r.knows {
		s.knows[command] = true
	}
}

// A cluster of several releases is one like any other.
func TestAClusterOfSeveralReleases(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		for i, name := range []string{"redis-7.0", "redis-8.6", "valkey-8.1", "valkey-9.1", "redis-8.6 without Lua"} {
			newSpeaking(c.servers[i], "").becomes(name, i)
		}
		u := c.user(1)
		for range 3 {
			l := u.must(t)
			time.Sleep(ttl / 2)
			require.NoError(t, l.Extend(t.Context()))
			synctest.Wait()
			for i, s := range c.servers {
				require.Equal(t, ttl, s.TTL(key), i)
			}
			require.NoError(t, l.Release(t.Context()))
			synctest.Wait()
			require.Equal(t, make([]string, 5), c.owners())
		}
	})
}

// Every server may become any other at any time, under a client that goes on. What it is asked
// for meanwhile it may refuse; the lock that comes next is taken, prolonged and given back.
func TestServersAreReplacedUnderALiveClient(t *testing.T) {
	names := slices.Sorted(maps.Keys(releases))
	rapid.Check(t, func(rt *rapid.T) {
		lives := rapid.SliceOfN(rapid.SampledFrom(names), 2, 6).Draw(rt, "lives")
		inBubble(t, 1, func(t *testing.T, c *cluster) {
			s := newSpeaking(c.servers[0], "")
			u := c.user(1)
			for run, name := range lives {
				s.becomes(name, run)
				for try := range 2 {
					l := u.must(t)
					time.Sleep(ttl / 2)
					err := l.Extend(t.Context())
					if err == nil {
						require.Equal(t, ttl, s.TTL(key))
						err = l.Release(t.Context())
					}
					if err == nil {
						require.False(t, s.Exists(key), strings.Join(lives[:run+1], ", "))
					}
					require.False(t, err != nil && try > 0, "%v, the second lock of it: %v", lives[:run+1], err)
					_ = l.Release(t.Context())
					time.Sleep(2 * ttl)
				}
			}
		})
	})
}

// Another's key is left alone, whatever its server was before.
func TestReplacedServersCompareFirst(t *testing.T) {
	for _, before := range slices.Sorted(maps.Keys(releases)) {
		for _, after := range slices.Sorted(maps.Keys(releases)) {
			inBubble(t, 1, func(t *testing.T, c *cluster) {
				s := newSpeaking(c.servers[0], "")
				s.becomes(before, 1)
				u := c.user(1)
				u.warmUp(t)
				l := u.must(t)
				s.becomes(after, 2)
				c.occupy("another", 1)
				require.Error(t, l.Extend(t.Context()))
				require.Error(t, l.Release(t.Context()))
				time.Sleep(2 * ttl)
				require.Equal(t, []string{"another"}, c.owners(), "%s, then %s", before, after)
				require.Equal(t, time.Minute, s.TTL(key)+2*ttl, "%s, then %s", before, after)
			})
		}
	}
}
