package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// BenchmarkSET compares a server under the shim, whose clock has to be computed,
// with one without, in turns, so that both see the same machine. It reports what
// the shim costs, in percent: of the SETs per second (the median of the turns),
// and of the server's own CPU time for each, which other load disturbs less.
func BenchmarkSET(b *testing.B) {
	needShim(b)
	_, err := exec.LookPath("redis-benchmark") // of Debian's redis-tools, which redis-server brings
	needs.Check(b, needs.Redis, err)
	under := nodeOf(start(b, 1, nil))
	require.NoError(b, under.SetClock(b.Context(), 0, 1.001))
	b.Setenv("XDG_CACHE_HOME", filepath.Join(b.TempDir(), "a folder")) // where no shim can be
	bare := nodeOf(start(b, 1, nil))
	require.Nil(b, bare.at.shim)

	var costs []float64
	var cpu struct{ under, bare int64 }
	for b.Loop() {
		first, ticks := setRate(b, bare)
		cpu.bare += ticks
		middle, ticks := setRate(b, under)
		cpu.under += ticks
		last, ticks := setRate(b, bare)
		cpu.bare += ticks
		costs = append(costs, 100*(1-middle/((first+last)/2)))
	}
	slices.Sort(costs)
	b.ReportMetric(costs[len(costs)/2], "%rate")
	b.ReportMetric(100*(2*float64(cpu.under)/float64(cpu.bare)-1), "%cpu")
}

// setRate is how many SETs a server does per second for ten clients, and how
// many clock ticks of CPU time it took for them.
func setRate(b *testing.B, n node) (rate float64, ticks int64) {
	b.Helper()
	before := cpuTicks(b, n)
	out, err := exec.Command("redis-benchmark", "-p", strconv.Itoa(n.at.port.number), "-t", "set", "-n", "50000", "-c", "10", "--csv").Output()
	require.NoError(b, err)
	_, last, _ := strings.Cut(string(out), "\n") // after the line of titles
	_, err = fmt.Sscanf(last, `"SET","%f"`, &rate)
	require.NoError(b, err, "%s", out)
	return rate, cpuTicks(b, n) - before
}

// cpuTicks is the CPU time of a server so far, fields 14 and 15 of its stat.
func cpuTicks(b *testing.B, n node) (ticks int64) {
	b.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.at.proc.Load().Identity().PID), "stat"))
	require.NoError(b, err)
	const first = 3 // the number of the field after the command, which ends with a parenthesis
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[14-first : 16-first] {
		used, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		ticks += used
	}
	return ticks
}

func nodeOf(l *Cluster) node { return node{l.Nodes["n1"], at(l, "n1")} }
