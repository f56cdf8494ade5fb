package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.org/lockproof/redlock"
)

// table is a store other than Redis: rows of a token and an expiry, as in an SQL table or etcd.
type table struct {
	mu   sync.Mutex
	rows map[string]row
}

type row struct {
	token string
	ends  time.Time
}

// update replaces the row of a key in one atomic step if its token is the expected one; "" stands for an absent row.
func (t *table) update(key, expected string, to row) (done bool, token string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rows[key]; time.Now().Before(r.ends) {
		token = r.token
	}
	if token != expected {
		return false, token, nil
	}
	t.rows[key] = to
	return true, token, nil
}

func (t *table) SetIfAbsent(_ context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	return t.update(c.Key, "", row{c.Token, time.Now().Add(c.TTL)})
}

func (t *table) DeleteIfEqual(_ context.Context, c redlock.Claim) (bool, error) {
	done, _, err := t.update(c.Key, c.Token, row{})
	return done, err
}

func (t *table) ExpireIfEqual(_ context.Context, c redlock.Claim) (bool, error) {
	done, _, err := t.update(c.Key, c.Token, row{c.Token, time.Now().Add(c.TTL)})
	return done, err
}

// Any store that compares and sets in one step can be a node.
func ExampleNode() {
	var nodes []redlock.Node
	for range 3 {
		nodes = append(nodes, &table{rows: map[string]row{}})
	}
	lock, _ := redlock.New(nodes, redlock.Options{NodeTimeout: time.Second})
	defer lock.Close()
	ctx := context.Background()
	lease, err := lock.TryAcquire(ctx, "invoice-42", time.Minute)
	_, other := lock.TryAcquire(ctx, "invoice-42", time.Minute)
	fmt.Println(err, "/", other != nil, "/", lease.Extend(ctx), "/", lease.Release(ctx))
	// Output: <nil> / true / <nil> / <nil>
}
