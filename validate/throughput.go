package validate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/local"
	"lockproof/harness/cluster/server"
	"lockproof/harness/history"
)

// Throughput is what persistence costs on this machine: SET NX PX requests a
// second with each setting, measured in turns in one run.
type Throughput struct {
	Server string `json:"server"`
	Rates  []Rate `json:"rates"`
	// Fdatasync is the median time of one fdatasync on the same disk, and
	// FdatasyncP99 the 99th percentile: what always waits for.
	Fdatasync    time.Duration `json:"fdatasync"`     // nanoseconds
	FdatasyncP99 time.Duration `json:"fdatasync_p99"` // nanoseconds
	Dir          string        `json:"dir"`           // the folder on that disk
}

// Rate is one setting's throughput, in requests a second.
type Rate struct {
	Persistence cluster.Persistence `json:"persistence"`
	One         float64             `json:"one"`  // one connection
	Many        float64             `json:"many"` // Connections of them
}

// Connections is how many clients ask at once for Rate.Many.
const Connections = 16

// Of is a setting's rate on one connection, 0 if it was not measured.
func (t *Throughput) Of(p cluster.Persistence) float64 {
	if t == nil {
		return 0
	}
	// RDB writes nothing on the way.
	if p == cluster.PersistRDB {
		p = cluster.PersistNone
	}
	for _, r := range t.Rates {
		if r.Persistence == p {
			return r.One
		}
	}
	return 0
}

// The settings go in turns of a few hundred milliseconds, so that what else the
// machine does falls on all of them.
const (
	turns    = 4
	turnTime = 250 * time.Millisecond
	syncs    = 200
)

// MeasureThroughput starts one server for each setting on this machine, and
// lets them work in turns.
func (a *Asker) MeasureThroughput(ctx context.Context) (*Throughput, error) {
	a.stage("throughput of none, everysec and always on real Redis")
	all := []cluster.Persistence{cluster.PersistNone, cluster.PersistEverysec, cluster.PersistAlways}
	if p := PersistenceOf(a.Redis); p == cluster.PersistNo {
		all = slices.Insert(all, 1, p)
	}
	t := &Throughput{Dir: os.TempDir()}
	var servers []*local.Cluster
	defer func() {
		for _, s := range servers {
			s.Close()
		}
	}()
	for _, p := range all {
		s, err := local.New(ctx, cluster.Config{Nodes: []string{"n1"}, Persistence: p, Record: func(history.Event) {}}, local.Options{})
		if err != nil {
			return nil, err
		}
		servers = append(servers, s)
		t.Server = s.Server()
		t.Rates = append(t.Rates, Rate{Persistence: p})
	}
	for range turns {
		for i, s := range servers {
			one, err := load(ctx, s.Address("n1"), 1)
			if err != nil {
				return nil, err
			}
			many, err := load(ctx, s.Address("n1"), Connections)
			if err != nil {
				return nil, err
			}
			t.Rates[i].One += one / turns
			t.Rates[i].Many += many / turns
		}
	}
	var err error
	t.Fdatasync, t.FdatasyncP99, err = syncTime(t.Dir)
	return t, err
}

// load asks a server for locks over some connections for a turn, and gives the
// rate.
func load(ctx context.Context, addr string, connections int) (float64, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, Password: server.Password(), PoolSize: connections, MinIdleConns: connections})
	defer client.Close()
	var group errgroup.Group
	counts := make([]int, connections)
	began := time.Now()
	for c := range connections {
		group.Go(func() error {
			for time.Since(began) < turnTime && ctx.Err() == nil {
				key := fmt.Sprintf("lock:%d:%d", c, counts[c]%1000)
				err := client.SetArgs(ctx, key, "token", redis.SetArgs{Mode: "NX", TTL: time.Minute}).Err()
				if err != nil && err != redis.Nil {
					return err
				}
				counts[c]++
			}
			return nil
		})
	}
	err := group.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / time.Since(began).Seconds(), err
}

// syncTime appends to a file as Redis does to its own, and syncs.
func syncTime(dir string) (median, p99 time.Duration, err error) {
	file, err := os.CreateTemp(dir, "lockproof-fdatasync-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(filepath.Clean(file.Name()))
	defer file.Close()
	line := make([]byte, 100)
	times := make([]time.Duration, syncs)
	for i := range times {
		if _, err := file.Write(line); err != nil {
			return 0, 0, err
		}
		began := time.Now()
		if err := fdatasync(file); err != nil {
			return 0, 0, err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100], nil
}
