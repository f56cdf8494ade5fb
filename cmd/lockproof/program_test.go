package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionTellsTheCommit(t *testing.T) {
	const revision = "286d527b04731b927f7bd7bd0c569024e466b147"
	for _, c := range []struct{ module, revision, modified, want string }{
		{"", "", "", "devel"},
		{"(devel)", revision, "false", "devel, commit 286d527b0473"},
		{"(devel)", revision, "true", "devel, commit 286d527b0473+dirty"},
		{"v1.2.0", revision, "false", "v1.2.0, commit 286d527b0473"},
		{"v1.2.0", "", "", "v1.2.0"},
		{"v0.0.0-20261122154349-286d527b0473+dirty", revision, "true", "v0.0.0-20261122154349-286d527b0473+dirty"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: c.revision}, {Key: "vcs.modified", Value: c.modified},
		}}
		require.Equal(t, c.want, versionOf(info))
	}
}
