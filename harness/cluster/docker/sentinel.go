package docker

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realcluster"
)

// mostSentinels is how many Sentinels the compose project has.
const mostSentinels = 3

// bringSentinels brings the project's Sentinels up, if they are not yet, and says where these
// are.
func (q *project) bringSentinels(ctx context.Context, wanted []string) (map[string]realcluster.Sentinel, error) {
	if err := q.upSentinels(ctx); err != nil {
		return nil, err
	}
	found := map[string]realcluster.Sentinel{}
	for _, name := range wanted {
		b := q.boxes[name]
		if b == nil {
			return nil, fmt.Errorf("project %s came up without %s", q.name, name)
		}
		outside, inside, err := b.Addresses(ctx)
		if err != nil {
			return nil, err
		}
		found[name] = realcluster.Sentinel{Outside: outside, Inside: inside}
	}
	return found, nil
}

func (q *project) upSentinels(ctx context.Context) error {
	names := cluster.Config{Sentinels: mostSentinels}.SentinelNames()
	if q.boxes[names[0]] != nil {
		return nil
	}
	up := append([]string{"--profile", "sentinel", "up", "-d", "--no-build", "--no-recreate"}, names...)
	if err := q.compose(ctx, up...); err != nil {
		return err
	}
	list, err := q.containers(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	var starting errgroup.Group
	for _, c := range list {
		if name := c.Labels[serviceLabel]; slices.Contains(names, name) {
			b := &nodeContainer{engine: q.engine, service: name, id: c.ID, proxy: q.proxy, direct: q.direct}
			q.boxes[name] = b
			starting.Go(func() error { return realcluster.AwaitAnswer(ctx, b) })
		}
	}
	return starting.Wait()
}
