package suite

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
)

// toyMaker counts the clusters of a kind declared below.
type toyMaker struct {
	cluster.Maker
	choice       cluster.Choice
	made, closed int
}

func (m *toyMaker) New(ctx context.Context, cfg cluster.Config) (cluster.Cluster, error) {
	m.made++
	return m.Maker.New(ctx, cfg)
}

func (m *toyMaker) Close() error {
	m.closed++
	return m.Maker.Close()
}

// declareToy adds a kind of cluster in virtual time without abilities.
func declareToy(t *testing.T) *toyMaker {
	m := &toyMaker{}
	toy := virtual.Kind
	toy.Name = "toy"
	toy.Node = struct{ cluster.Node }{}
	toy.Open = func(ctx context.Context, choice cluster.Choice, notices io.Writer) (_ cluster.Maker, err error) {
		m.choice = choice // each kind chooses its own servers
		m.Maker, err = virtual.Kind.Open(ctx, cluster.Choice{}, notices)
		return m, err
	}
	before := cluster.Kinds
	cluster.Kinds = append(slices.Clip(before), toy)
	t.Cleanup(func() { cluster.Kinds = before })
	return m
}

// The loader, the suite and the histories know a kind by its declaration alone.
func TestClusterKind_DeclaredOnce_WorksEverywhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "toys.yaml")
	scenario := func(script string) string {
		return "name: toys\ntitle: A toy\nsource: a test\nlesson: None.\non: [toy]\nclients: {c1: {}}\nscript:\n" + script +
			"  - acquire: c1\nexpect: {mutual-exclusion: holds}\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(scenario("")), 0o600))
	_, err := Options{Cluster: "toy"}.Jobs(nil)
	require.EqualError(t, err, `no cluster named "toy": there are virtual, local, docker`)

	toy := declareToy(t)
	o := Options{Cluster: "toy", Trials: 1, Seed: 1, Out: t.TempDir(),
		Choice: cluster.Choice{Server: "a small one"}}
	trials, err := Run(context.Background(), jobsOf(t, o, file), o, func(Result) {})
	require.NoError(t, err)
	requireStanding(t, trials[0], AsExpected, "")
	require.Equal(t, "toy", trials[0].Cluster)
	header := readHistory(t, filepath.Join(o.Out, trials[0].History))[0].Header
	require.Equal(t, "toy", header.Cluster)
	require.False(t, header.RealTime)
	require.Equal(t, cluster.Choice{Server: "a small one"}, toy.choice)
	require.Equal(t, [2]int{1, 1}, [2]int{toy.made, toy.closed})

	o.Cluster = Virtual
	require.Equal(t, "it runs on toy only", skips(t, o, jobsOf(t, o, file)[0]))

	require.NoError(t, os.WriteFile(file, []byte(scenario("  - fill-disk: n1\n")), 0o600))
	o.Cluster = "toy"
	require.Equal(t, "needs a disk that can stall, fail and be full, which the toy cluster does not have: local and "+
		"docker do", skips(t, o, jobsOf(t, o, file)[0]))
}
