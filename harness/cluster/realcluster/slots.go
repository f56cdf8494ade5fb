package realcluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/history"
)

func (c *Cluster) SetSlot(ctx context.Context, member, key, state, other string) error {
	return c.Nodes[member].operate(ctx, "set a slot of", func(ctx context.Context, client *redis.Client) error {
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return err
		}
		words := []any{"CLUSTER", "SETSLOT", slot, state}
		if id := c.ids[other]; id != "" {
			words = append(words, id)
		}
		return client.Do(ctx, words...).Err()
	})
}

// maxKeys limits the moved keys of a slot; migrateTimeout bounds the target's silence.
const (
	maxKeys        = 1000
	migrateTimeout = 5 * time.Second
)

func (c *Cluster) MigrateKeys(ctx context.Context, key, from, to string) (keys []string, err error) {
	host, port, err := net.SplitHostPort(c.Address(toMember, to))
	if err != nil {
		return nil, err
	}
	err = c.Nodes[from].operate(ctx, "migrate keys of", func(ctx context.Context, client *redis.Client) error {
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return err
		}
		if keys, err = client.ClusterGetKeysInSlot(ctx, int(slot), maxKeys).Result(); err != nil || len(keys) == 0 {
			return err
		}
		words := []any{"MIGRATE", host, port, "", 0, migrateTimeout.Milliseconds(), "AUTH", Password(), "KEYS"}
		for _, key := range keys {
			words = append(words, key)
		}
		return client.Do(ctx, words...).Err()
	})
	return keys, err
}

func (c *Cluster) SlotOwner(ctx context.Context, key string) (owner string, err error) {
	members := c.members()
	for _, m := range members {
		named := ""
		err := c.Nodes[m.Name].reach(ctx, "ask for a slot's owner", func(ctx context.Context, addr string) error {
			announced, err := slotOwner(ctx, addr, key)
			for _, other := range members {
				if announced == other.Announced || announced == "" && other.Name == m.Name {
					named = other.Name
				}
			}
			return err
		})
		if err != nil {
			return "", err
		}
		switch owner {
		case "":
			owner = named
		case named:
		default:
			return "", nil
		}
		if named == "" {
			return "", fmt.Errorf("%s names an owner that is no member", m.Name)
		}
	}
	return owner, nil
}

// slotOwner is the announced address of the master of a key's slot, from a member's redirect; "" for the member itself.
func slotOwner(ctx context.Context, addr, key string) (announced string, err error) {
	reply, err := query(ctx, addr, "EXISTS "+key)
	moved := strings.Fields(reply)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(reply, ":"):
		return "", nil
	case len(moved) == 3 && moved[0] == "-MOVED":
		return moved[2], nil
	}
	return "", fmt.Errorf("asked for %s, it answered %q", key, reply)
}

// memberStates reads the lock keys that a member serves. A replica serves reads after READONLY, and a slot's importer
// after ASKING before each command. It reads keys one by one, because a transaction cannot span slots. A key whose
// reads the member redirects does not count, even if the member has a copy.
func memberStates(ctx context.Context, c *redis.Client, keys []string) (map[string]history.KeyState, error) {
	conn := c.Conn()
	defer conn.Close()
	if err := conn.ReadOnly(ctx).Err(); err != nil {
		return nil, err
	}
	states := map[string]history.KeyState{}
	for _, key := range keys {
		state, err := readStates(ctx, asking{conn.Pipeline()}, []string{key})
		if redirected(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		for key := range state {
			states[key] = state[key]
		}
	}
	return states, nil
}

func redirected(err error) bool {
	return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")
}

// asking is a pipeline that sends ASKING before each read of a key.
type asking struct{ redis.Pipeliner }

func (a asking) Get(ctx context.Context, key string) *redis.StringCmd {
	a.Do(ctx, "ASKING")
	return a.Pipeliner.Get(ctx, key)
}

func (a asking) PTTL(ctx context.Context, key string) *redis.DurationCmd {
	a.Do(ctx, "ASKING")
	return a.Pipeliner.PTTL(ctx, key)
}
