package realcluster

import (
	"context"
	"fmt"

	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/server"
)

func (c *Cluster) SetSlot(ctx context.Context, member, key, state, other string) error {
	return c.Nodes[member].reach(ctx, "set a slot of", func(ctx context.Context, addr string) error {
		return server.SetSlot(ctx, addr, key, state, c.ids[other])
	})
}

func (c *Cluster) MigrateKeys(ctx context.Context, key, from, to string) (keys []string, err error) {
	err = c.Nodes[from].reach(ctx, "migrate keys of", func(ctx context.Context, addr string) error {
		keys, err = server.MigrateKeys(ctx, addr, key, c.Address(network.ToMember, to))
		return err
	})
	return keys, err
}

func (c *Cluster) SlotOwner(ctx context.Context, key string) (owner string, err error) {
	members, err := c.members()
	if err != nil {
		return "", err
	}
	for _, m := range members {
		named := ""
		err := c.Nodes[m.Name].reach(ctx, "ask for a slot's owner", func(ctx context.Context, addr string) error {
			announced, err := server.SlotOwner(ctx, addr, key)
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
