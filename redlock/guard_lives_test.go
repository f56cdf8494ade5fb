package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// life is a drawn one of three users on five servers, which restart without their keys,
// lose connections, and are far away from some for a while: a dial takes longer than a lease
// then, as where a first packet is lost.
type life struct {
	*processes
	r      *rand.Rand
	users  []*user
	far    [3][5]atomic.Int64 // how long a dial takes
	leases []*Lease           // by user, nil if it has none
	told   []string           // what has happened
}

func newLife(c *cluster, seed uint64, opts ...Option) *life {
	f := &life{processes: processesOf(c), r: rand.New(rand.NewPCG(seed, 1)), leases: make([]*Lease, 3)}
	time.Sleep(settled)
	for i := range f.leases {
		node := 0
		opts := append([]Option{WithRestartGuard(ttl), WithNodeTimeout(ttl / 2)}, opts...)
		f.users = append(f.users, f.user(uint64(i), func(o *redis.Options) {
			far, dial := &f.far[i][node], o.Dialer
			node++
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				time.Sleep(time.Duration(far.Load()))
				return dial(ctx, network, addr)
			}
			if f.r.IntN(2) == 0 {
				o.MaxRetries = 1
			}
		}, opts...))
	}
	return f
}

// step is the next thing that happens.
func (f *life) step() {
	who, node := f.r.IntN(3), f.r.IntN(5)
	switch f.r.IntN(10) {
	case 0, 1, 2:
		f.tell("u%d acquires: %v", who, f.acquire(who))
	case 3, 4:
		if f.leases[who] != nil {
			f.tell("u%d extends: %v", who, f.leases[who].Extend(f.t.Context()))
		}
	case 5:
		if l := f.leases[who]; l != nil && f.r.IntN(3) == 0 {
			f.tell("u%d releases: %v", who, l.Release(f.t.Context()))
		}
	case 6:
		f.all[node].restart()
		f.tell("n%d restarts", node+1)
	case 7:
		f.reaches(who)
	case 8:
		d := []time.Duration{0, 0, ttl / 2, ttl + time.Millisecond, ttl + ttl/4}[f.r.IntN(5)]
		f.far[who][node].Store(int64(d))
		f.tell("a dial of u%d's to n%d takes %s", who, node+1, d)
	default:
		d := []time.Duration{time.Millisecond, ttl / 10, ttl / 2, ttl - 20*time.Millisecond, ttl, 2 * ttl}[f.r.IntN(6)]
		time.Sleep(d)
		f.tell("%s pass", d)
	}
}

func (f *life) acquire(who int) error {
	l, err := f.users[who].TryAcquire(f.t.Context(), key, ttl)
	if err == nil {
		f.leases[who] = l
	}
	return err
}

// reaches draws the servers that a user reaches from now on, three or more.
func (f *life) reaches(who int) {
	var nodes []int
	for _, n := range f.r.Perm(5)[:3+f.r.IntN(3)] {
		nodes = append(nodes, n+1)
	}
	f.users[who].reach(nodes...)
	f.tell("u%d reaches %v", who, nodes)
}

func (f *life) tell(format string, args ...any) {
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

// holders are how many believe that they hold the lock.
func (f *life) holders() (n int) {
	for _, l := range f.leases {
		if l != nil && l.Validity() > 0 {
			n++
		}
	}
	return n
}

// lives counts the grants, and the lives in which two held the lock at once; of the first it
// says what happened.
func lives(t *testing.T, n int, opts ...Option) (grants, doubles int, first string) {
	for seed := range uint64(n) {
		inBubble(t, 5, func(t *testing.T, c *cluster) {
			f := newLife(c, seed, opts...)
			for range 40 {
				f.step()
				synctest.Wait()
				if f.holders() > 1 {
					doubles++
					if first == "" {
						first = fmt.Sprintf("life %d:\n%s", seed, strings.Join(f.told, "\n"))
					}
					break
				}
			}
			for _, told := range f.told {
				if strings.HasSuffix(told, "acquires: <nil>") {
					grants++
				}
			}
		})
	}
	return grants, doubles, first
}

// Whatever restarts and however late anything comes, no two hold the lock at once; without the
// guard, some do.
func TestDrawnLivesWithAGuard(t *testing.T) {
	grants, doubles, first := lives(t, 150)
	require.Zero(t, doubles, first)
	require.Greater(t, grants, 150)
	_, doubles, _ = lives(t, 60, Without(RestartGuard))
	require.Positive(t, doubles)
}
