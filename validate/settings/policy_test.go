package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/internal/input/inputtest"
)

func TestReadPolicy(t *testing.T) {
	const s = time.Second
	tests := []struct {
		file, service string
		kind          string
		after         [3]time.Duration // kill, shutdown, power-loss
		overrides     []string
		unsure        bool
		doubted       bool
	}{
		{"redis.service", "", Systemd, [3]time.Duration{35 * s, 0, 0}, []string{"appendonly yes", "appendfsync always"}, false, false},
		{"sleeping.service", "", Systemd, [3]time.Duration{96 * s, 31 * s, 31 * s}, nil, false, false},
		{"compose.yaml", "", Compose, [3]time.Duration{100 * time.Millisecond, 0, 0},
			[]string{"appendonly yes", "appendfsync everysec"}, false, true}, // its other node has neither
		{"compose.yaml", "lock2", Compose, [3]time.Duration{}, nil, false, false},
		{"compose-sleeping.yaml", "", Compose, [3]time.Duration{31*s + 100*time.Millisecond, 31 * s, 31 * s},
			[]string{"appendonly yes"}, false, false},
		{"statefulset.yaml", "", Kubernetes, [3]time.Duration{}, []string{"appendonly yes"}, false, false},
		{"scripted-pod.yaml", "", Kubernetes, [3]time.Duration{}, nil, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.service, func(t *testing.T) {
			p, err := Disk.ReadPolicy(filepath.Join("testdata", "policy", tt.file), tt.service)
			require.NoError(t, err)
			require.Equal(t, tt.kind, p.Kind)
			for i, crash := range Crashes {
				require.Equal(t, tt.after[i], p.Returns[crash].After, crash)
				require.NotEmpty(t, p.Returns[crash].Why)
				require.Equal(t, tt.unsure, p.Returns[crash].Unsure != "", p.Returns[crash].Unsure)
			}
			var overrides []string
			for _, d := range p.Overrides {
				overrides = append(overrides, d.String())
			}
			require.Equal(t, tt.overrides, overrides)
			doubted := false
			for _, r := range p.Remarks {
				doubted = doubted || len(r.Doubts) > 0
			}
			require.Equal(t, tt.doubted, doubted, p.Remarks)
		})
	}
}

func TestACommandLineOutranksTheFile(t *testing.T) {
	r, err := Disk.ReadRedis("testdata/redis/2-no-persistence.conf", nil)
	require.NoError(t, err)
	p, err := Disk.ReadPolicy("testdata/policy/redis.service", "")
	require.NoError(t, err)
	require.NoError(t, r.Apply(p.Overrides))
	require.Contains(t, r.Lines(), "appendonly yes")
	at, _ := r.At("appendonly")
	require.Equal(t, "testdata/policy/redis.service:6", at.String())
	require.ErrorContains(t,
		r.Apply([]Directive{{Name: "appendfsync", Args: []string{"x"}, Place: Place{"u.service", 3}}}),
		"u.service:3:1: appendfsync x")
}

func TestUnitsAreReadAsSystemdDoes(t *testing.T) {
	unit := func(lines string) Policy {
		p, err := ParsePolicy("x.service", []byte("[Service]\n"+lines), "")
		require.NoError(t, err)
		return p
	}
	require.Equal(t, 100*time.Millisecond, unit("Restart=always").Returns[Kill].After, "the default of RestartSec")
	require.Equal(t, time.Duration(0), unit("Restart=no\nRestartSec=9").Returns[Kill].After)
	require.Equal(t, 2*time.Second, unit("RestartSec=9\nRestart=always\nRestartSec=2").Returns[Kill].After, "the last counts")
	require.Equal(t, time.Duration(0), unit("ExecStartPre=/bin/sleep 9\nExecStartPre=").Returns[Kill].After, "an empty one takes back")
	require.Equal(t, 90*time.Second, unit("ExecStartPre=-/bin/sleep 1m 30").Returns[PowerLoss].After)
	require.Len(t, unit("Restart=always\nRestartSec=1s").Remarks, 1, "five restarts in ten seconds")
	require.Len(t, unit("ExecStartPre=/bin/true\nRestart=on-failure\nRestartSec=60").Remarks, 1)
	require.Equal(t, Crashes, unit("ExecStartPre=/bin/sleep 95\nRestart=always").Remarks[0].Doubts, "TimeoutStartSec comes first")
}

func TestProblemsOfPolicies(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"x.service", "[Service]\nRestartSec=soon",
			"x.service:2:1: RestartSec=soon: this is not a time span; write it as in 35, 35s or 1min 30s"},
		{"x.service", "[Service]\nRestart=maybe", "x.service:2:1: Restart=maybe: there is no such value; there are no, on-success"},
		{"x.service", "Restart=always", `x.service:1:1: this is not a line of a unit`},
		{"x.service", "", "x.service: nothing is set here; give a systemd unit"},
		{"x.service", "[Service]\nExecStartPre=/bin/sleep long", "x.service:2:1: sleep long is not a time"},
		{"x.yaml", "services: {a: {restart: maybe}}",
			"x.yaml:1:1: restart: maybe: there is no such policy; there are no, always, on-failure, unless-stopped"},
		{"x.yaml", "services: {a: {image: nginx}, b: {image: httpd}}",
			"none of the services is a Redis by its name or image; name it with --service: there are a, b"},
		{"x.yaml", "kind: Service", "no Pod, Deployment, StatefulSet, DaemonSet or ReplicaSet here runs a Redis"},
		{"x.yaml", "kind: Pod\nspec: {restartPolicy: Sometimes, containers: [{name: redis}]}",
			"restartPolicy: Sometimes: there is no such policy; there are Always, OnFailure, Never"},
		{"x.yaml", "a: [", "x.yaml:1:"},
		{"x.yaml", "hello", "this is no restart policy that can be read"},
		{"x.yaml", "", "this is no restart policy that can be read"},
		{"x.yaml", "\x00", "this is no text"},
	}
	for _, tt := range tests {
		_, err := ParsePolicy(tt.name, []byte(tt.text), "")
		require.ErrorContains(t, err, tt.want, tt.text)
	}
	_, err := ParsePolicy("x.yaml", []byte("services: {redis: {image: redis}}"), "lock")
	require.ErrorContains(t, err, `there is no service "lock"; there are redis`)
	_, err = Disk.ReadPolicy("missing.service", "")
	require.ErrorContains(t, err, "missing.service: cannot be read: no such file")
}

func TestTimeSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"35": 35 * time.Second, "35s": 35 * time.Second, "1min 30s": 90 * time.Second, "1min30s": 90 * time.Second,
		"500ms": 500 * time.Millisecond,
		"1.5h":  90 * time.Minute, "2 days": 48 * time.Hour, "infinity": forever,
	} {
		got, err := parseTimeSpan(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "s", "5x", "-1s", "1e9h", "999999999h"} {
		_, err := parseTimeSpan(text)
		require.Error(t, err, text)
	}
}

func FuzzPolicy(f *testing.F) {
	files, err := filepath.Glob("testdata/policy/*")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(filepath.Base(file), data)
	}
	for _, bomb := range inputtest.YAML() {
		f.Add("compose.yaml", []byte("services: {redis: {image: redis}}\n"+bomb))
		f.Add("pod.yaml", []byte("kind: Pod\nspec: {containers: [{name: redis}]}\n"+bomb))
	}
	f.Add("x.service", []byte("[Service]\n"+strings.Repeat("\\\n", 200_000)))
	f.Add("x.service", []byte("[Service]\nRestartSec="+strings.Repeat("1s ", 100_000)))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		var p Policy
		var err error
		inputtest.Bounded(t, len(data), func() { p, err = ParsePolicy(name, data, "") })
		if err != nil {
			return
		}
		for _, crash := range Crashes {
			require.Contains(t, p.Returns, crash)
			require.GreaterOrEqual(t, p.Returns[crash].After, time.Duration(0))
		}
	})
}

// What systemctl edit has left beside a unit counts after it, in the order of
// the names.
func TestDropInsCount(t *testing.T) {
	const unit = "testdata/drop-ins/edited.service"
	p, err := Disk.ReadPolicy(unit, "")
	require.NoError(t, err)
	require.Equal(t, 66*time.Second, p.Returns[Kill].After)
	require.Equal(t, 31*time.Second, p.Returns[PowerLoss].After)
	require.Equal(t, unit, p.File)
	require.Len(t, p.Overrides, 1)
	require.Equal(t, "appendonly yes", p.Overrides[0].String())
	require.Equal(t, unit+".d/override.conf:5", p.Overrides[0].Place.String())
	var said []string
	for _, r := range p.Remarks {
		said = append(said, r.String())
	}
	require.Contains(t, said, unit+".d/10-wait.conf: this drop-in counts as well")
	require.Contains(t, said, unit+".d/override.conf: this drop-in counts as well")
	require.NotContains(t, strings.Join(said, "\n"), "empty.conf")
}

func TestAMistakeInADropInIsFoundThere(t *testing.T) {
	unit := filepath.Join(t.TempDir(), "redis.service")
	wrong := filepath.Join(unit+".d", "wrong.conf")
	require.NoError(t, os.Mkdir(unit+".d", 0o755))
	require.NoError(t, os.WriteFile(unit, []byte("[Service]\nRestart=always\n"), 0o644))
	require.NoError(t, os.WriteFile(wrong, []byte("[Service]\nRestartSec=soon\n"), 0o644))
	_, err := Disk.ReadPolicy(unit, "")
	require.ErrorContains(t, err, wrong+":2:1: RestartSec=soon: this is not a time span")
}
