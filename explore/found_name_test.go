package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/scenarios"
)

// A find's name is a scenario's, whatever the lock is called.
func TestFindName_IsScenarioName(t *testing.T) {
	for lock, name := range map[string]string{
		"redsync":                          "mutual-exclusion-of-redsync-7",
		"go-redsync/redsync, deadlines on": "mutual-exclusion-of-go-redsync-redsync-deadlines-on-7",
		" My Lock -- v2 (new) ":            "mutual-exclusion-of-my-lock-v2-new-7",
	} {
		s := Search{Question: Question{Space: Space{Lock: lock}}}
		var f Find
		f.Property, f.Number = "mutual-exclusion", 7
		require.Equal(t, name, s.Name(f))
		_, err := scenarios.Parse(name+".yaml", []byte("name: "+name+`
title: A title
source: A source
lesson: A lesson.
clients: [c1]
script: [{acquire: c1}]
expect: {mutual-exclusion: holds}
`))
		require.NoError(t, err)
	}
}
