package settings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Sizes are Redis's (memtoull in util.c): k is a thousand, kb 1024.
func TestMaxMemory_HasTheUnitsOfRedis(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "7b": 7, "7k": 7000, "7kb": 7 << 10, "7m": 7e6, "7mb": 7 << 20, "7g": 7e9, "7gb": 7 << 30,
		"7GB": 7 << 30, "7Kb": 7 << 10,
		"4294967296gb": 1 << 62,
	} {
		r, err := ParseRedis("x", "maxmemory "+text)
		require.NoError(t, err, text)
		require.Equal(t, want, r.MaxMemory, text)
	}
	for _, text := range []string{"4294967297gb", "-1", "1.5gb", "gb", "1bk", "1t", "9223372036854775808"} {
		_, err := ParseRedis("x", "maxmemory "+text)
		require.ErrorContains(t, err, "not an amount of memory", text)
	}
}

func TestNumbers_AreWholeAndNotNegative(t *testing.T) {
	for text, right := range map[string]bool{"0": true, "1": true, "-1": false, "1.5": false, "x": false} {
		r, err := ParseRedis("x", "min-replicas-max-lag "+text)
		require.Equal(t, right, err == nil, text)
		if right {
			require.Equal(t, text, fmt.Sprint(r.MinLag))
		}
	}
}

// A snapshot rule is of at least a second, and of changes that may be none; a hundred of them are read.
func TestTheLimitsOfSnapshotRules(t *testing.T) {
	r, err := ParseRedis("x", "save 1 0 1000000000 5")
	require.NoError(t, err)
	require.Equal(t, []SavePoint{{time.Second, 0}, {1e9 * time.Second, 5}}, r.Save)
	r, err = ParseRedis("x", "save "+strings.Repeat("1 1 ", 100))
	require.NoError(t, err)
	require.Len(t, r.Save, 100)
	for _, text := range []string{"0 1", "-1 1", "1000000001 1", "1 -1", "1 1 1", `"" 1`} {
		_, err := ParseRedis("x", "save "+text)
		require.Error(t, err, text)
	}
	_, err = ParseRedis("x", "save "+strings.Repeat("1 1 ", 101))
	require.ErrorContains(t, err, "x:1:1: there are more than 100 rules")
}

// Only a limit on the memory makes Redis remove keys, and only by a policy that does.
func TestEvicts_NeedsALimitAndAPolicy(t *testing.T) {
	for text, evicts := range map[string]bool{
		"": false, "maxmemory 0\nmaxmemory-policy allkeys-lru": false, "maxmemory 1\nmaxmemory-policy allkeys-lru": true,
		"maxmemory 1": false, "maxmemory-policy volatile-ttl": false,
	} {
		r, err := ParseRedis("x", text)
		require.NoError(t, err)
		require.Equal(t, evicts, r.Evicts(), text)
		require.Equal(t, strings.Contains(text, "maxmemory 1"), strings.Contains(strings.Join(r.Lines(), "\n"),
			"maxmemory 1"), text)
		require.NotContains(t, r.Lines(), "maxmemory 0")
	}
}

// The settings of replication are told where a number of replicas is asked for.
func TestReplicasThatAreAskedFor(t *testing.T) {
	for text, want := range map[string][]string{
		"min-replicas-to-write 0\nmin-replicas-max-lag 3": nil,
		"min-replicas-to-write 1":                         {"min-replicas-to-write 1", "min-replicas-max-lag 10"},
		"min-slaves-to-write 2\nmin-slaves-max-lag 4":     {"min-replicas-to-write 2", "min-replicas-max-lag 4"},
	} {
		r, err := ParseRedis("x", text)
		require.NoError(t, err)
		var found []string
		for _, line := range r.Lines() {
			if strings.HasPrefix(line, "min-replicas") {
				found = append(found, line)
			}
		}
		require.Equal(t, want, found, text)
		require.NotContains(t, r.Own(), "min-replicas-to-write", "trials of crashes have no replicas")
	}
	none, err := ParseRedis("x", `save ""`)
	require.NoError(t, err)
	require.Equal(t, `""`, none.Own()["save"])
	require.Equal(t, "\"\"\nsave 3600 1 300 100 60 10000", Default().Own()["save"])
}
