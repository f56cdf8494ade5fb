package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHowLongASleepIs(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"35": 35 * time.Second, "1.5s": 1500 * time.Millisecond, "2m": 2 * time.Minute, "1h 1": time.Hour + time.Second, "1d": 24 * time.Hour,
		"0": 0, "1000000": 1e6 * time.Second,
	} {
		got, ok := sleepTime(strings.Fields(text))
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "1000001", "-1", "1w", "x", "1 x"} {
		_, ok := sleepTime(strings.Fields(text))
		require.False(t, ok, text)
	}
}

// A shell's script is read where it does no more than to sleep and to start the server; of all others nothing is
// guessed.
func TestHowFarAWrapperIsRead(t *testing.T) {
	const known, unknown, script = "", "is not known, and may wait", "is not read, and may wait"
	tests := []struct {
		words  []string
		sleep  time.Duration
		lines  string // of the server's command line
		config string
		unsure string
	}{
		{nil, 0, "", "", known},
		{[]string{"redis-server"}, 0, "", "", known},
		{[]string{"/usr/bin/valkey-server", "/etc/v.conf", "--save", "60", "1"}, 0, "save 60 1", "/etc/v.conf", known},
		{[]string{"redis-server", "--appendonly", "yes", "--save", ""}, 0, `appendonly yes,save ""`, "", known},
		{[]string{"redis-server", "--", "yes", "--a", "b"}, 0, "a b", "", known},
		{[]string{"docker-entrypoint.sh", "redis-server", "/r.conf"}, 0, "", "/r.conf", known},
		{[]string{"docker-entrypoint.sh"}, 0, "", "", known},
		{[]string{"--appendonly", "yes"}, 0, "appendonly yes", "", known},
		{[]string{"/r.conf", "--appendonly", "yes"}, 0, "appendonly yes", "/r.conf", known},
		{[]string{"sh", "-c", "sleep 31 && exec redis-server /r.conf"}, 31 * time.Second, "", "/r.conf", known},
		{[]string{"bash", "-ec", "sleep 1m; redis-server"}, time.Minute, "", "", known},
		{[]string{"/bin/ash", "-c", "exec redis-server --appendonly yes"}, 0, "appendonly yes", "", known},
		{[]string{"sh", "-c", "sh -c 'sleep 2; redis-server'"}, 0, "", "", script},
		{[]string{"sh", "-c", "docker-entrypoint.sh redis-server"}, 0, "", "", known},
		{[]string{"sh", "-c", "sleep 3 && exec docker-entrypoint.sh redis-server /r.conf"}, 3 * time.Second, "", "/r.conf", known},
		{[]string{"sh", "-c", "sleep 3; wait-for-it redis-server"}, 3 * time.Second, "", "", unknown},
		{[]string{"sh", "-c", ""}, 0, "", "", script},
		{[]string{"sh", "-c", "redis-server 'open"}, 0, "", "", script},
		{[]string{"sh", "-c", "redis-server | tee log"}, 0, "", "", script},
		{[]string{"sh", "-c", "redis-server &"}, 0, "", "", script},
		{[]string{"sh", "-c", "sleep 3; redis-server; true"}, 3 * time.Second, "", "", script},
		{[]string{"sh", "-c", "redis-server > /dev/null"}, 0, "", "", script},
		{[]string{"sh", "-c", "redis-server $OPTIONS"}, 0, "", "", script},
		{[]string{"sh", "-c", "redis-server"}, 0, "", "", known},
		{[]string{"sh", "-c", "redis-server", "more"}, 0, "", "", unknown},
		{[]string{"sh", "c", "redis-server"}, 0, "", "", unknown},
		{[]string{"sh", "-x", "redis-server"}, 0, "", "", unknown},
		{[]string{"sh", "start.sh"}, 0, "", "", unknown},
		{[]string{"zsh", "-c", "redis-server"}, 0, "", "", unknown},
		{[]string{"redis-server", "--appendonly yes", "--save 60 1 300 10", "--requirepass 'a b'"}, 0,
			`appendonly yes,save 60 1 300 10,requirepass "a b"`, "", known},
		{[]string{"redis-server", "--save", "--appendonly", "yes"}, 0, `save "",appendonly yes`, "", known},
		{[]string{"redis-server", "--appendonly", "yes", "--save"}, 0, `appendonly yes,save ""`, "", known},
		{[]string{"redis-server", "--save", "60", "1"}, 0, "save 60 1", "", known},
		{[]string{"redis-server", "--masterauth", "--hunter22", "--port", "1"}, 0, "masterauth --hunter22,port 1", "", known},
		{[]string{"redis-server", "--appendonly=yes"}, 0, "appendonly=", "", known},
		{[]string{"redis-server", "--requirepass 'open"}, 0, `requirepass "'open" ""`, "", known},
		{[]string{"redis-server", "-"}, 0, "", "its standard input", known},
		{[]string{"/sbin/tini", "-g", "--", "redis-server", "/r.conf"}, 0, "", "/r.conf", known},
		{[]string{"dumb-init", "redis-server"}, 0, "", "", known},
		{[]string{"tini"}, 0, "", "", unknown},
		{[]string{"gosu", "redis", "redis-server", "--port", "1"}, 0, "port 1", "", known},
		{[]string{"su-exec", "redis:redis", "redis-server"}, 0, "", "", known},
		{[]string{"gosu", "redis-server"}, 0, "", "", unknown},
		{[]string{"env", "A=hunter22", "redis-server"}, 0, "", "", known},
		{[]string{"env", "-i", "redis-server"}, 0, "", "", unknown},
		{[]string{"exec", "docker-entrypoint.sh", "--port", "1"}, 0, "port 1", "", known},
		{[]string{"sh", "-c", "A=hunter22 exec redis-server"}, 0, "", "", known},
		{[]string{"sh", "-c", "sleep 31\nexec redis-server --port 1\n"}, 31 * time.Second, "port 1", "", known},
		{[]string{"sh", "-c", "exec redis-server --requirepass \"$PASSWORD\""}, 0, "requirepass $PASSWORD", "", known},
		{[]string{"sh", "-c", "exec redis-server --port $(port)"}, 0, "", "", script},
		{[]string{"sh", "-c", "exec redis-server --save $POINTS"}, 0, "", "", script},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.words, " "), func(t *testing.T) {
			c := readCommand(Place{"x", 1}, tt.words)
			require.Equal(t, tt.sleep, c.sleep)
			var lines []string
			for _, d := range c.overrides {
				lines = append(lines, d.String())
			}
			require.Equal(t, tt.lines, strings.Join(lines, ","))
			config := ""
			if c.config != nil {
				config = c.config.Path
			}
			if tt.unsure == known {
				require.Equal(t, tt.config, config)
			}
			require.Equal(t, tt.unsure == known, c.unsure == "", c.unsure)
			require.Contains(t, c.unsure, tt.unsure)
		})
	}
}

func unitOf(t *testing.T, lines string) Policy {
	t.Helper()
	p, err := ParsePolicy("x.service", []byte("[Service]\n"+lines), "")
	require.NoError(t, err)
	return p
}

func TestWhyAUnitStaysAway(t *testing.T) {
	const nothing, sleep = "nothing restarts it, and whoever starts it may do so at once", "\nExecStartPre=/bin/sleep 1"
	const sleeping = "\nExecStart=/bin/sh -c 'sleep 31; exec redis-server'"
	for _, tt := range []struct{ lines, why string }{
		{"Restart=no", nothing},
		{"Restart=on-success\nRestartSec=5", nothing},
		{"Restart=on-failure", "Restart=on-failure after RestartSec=100ms"},
		{"Restart=always\nRestartSec=5", "Restart=always after RestartSec=5"},
		{"Restart=always\nRestartSec=0" + sleep, "ExecStartPre sleeps for 1s at every start"},
		{"Restart=always\nRestartSec=1ms" + sleep, "ExecStartPre sleeps for 1s at every start, after RestartSec"},
		{"Restart=no" + sleeping, "ExecStart sleeps for 31s at every start"},
		{"Restart=no" + sleep + sleeping, "ExecStartPre and ExecStart together sleeps for 32s at every start"},
	} {
		require.Equal(t, tt.why, unitOf(t, tt.lines).Returns[Kill].Why, tt.lines)
	}
}

// What else is said of a unit: each at its boundary.
func TestRemarksOnUnits(t *testing.T) {
	const down, raise, other = "systemd leaves the server down", "raise it", "is not a sleep"
	for lines, want := range map[string]string{
		"Restart=always\nRestartSec=2":                                        "", // five in ten seconds are no more than allowed
		"Restart=always\nRestartSec=1999ms":                                   down,
		"Restart=always\nRestartSec=1\nExecStartPre=/bin/sleep 1":             "",
		"Restart=always\nRestartSec=1\nExecStartPre=/bin/sleep 0.9":           down,
		"Restart=no\nRestartSec=1":                                            "",
		"Restart=always\nRestartSec=1\n[Unit]\nStartLimitBurst=0":             "",
		"Restart=always\nRestartSec=3\n[Unit]\nStartLimitBurst=3":             down,
		"Restart=always\nRestartSec=3\n[Unit]\nStartLimitBurst=4":             "",
		"Restart=always\n[Unit]\nStartLimitIntervalSec=0":                     "",
		"ExecStartPre=/bin/sleep 20\nTimeoutSec=20":                           raise,
		"ExecStartPre=/bin/sleep 19\nTimeoutSec=20":                           "",
		"ExecStartPre=/bin/sleep 20\nTimeoutSec=infinity":                     "",
		"ExecStartPre=/bin/sleep 20\nTimeoutSec=0":                            "",
		"Type=forking\nTimeoutSec=3\nExecStart=sh -c 'sleep 3; redis-server'": raise,
		"Type=simple\nTimeoutSec=3\nExecStart=sh -c 'sleep 3; redis-server'":  "",
		"ExecStartPre=/bin/true":                                              other,
		"ExecStartPre=sleep":                                                  other,
		"ExecStartPre=-":                                                      other,
		"ExecStartPre=sleep 1":                                                "",
	} {
		var said []string
		for _, r := range unitOf(t, lines).Remarks {
			said = append(said, r.What)
		}
		require.Equal(t, want == "", len(said) == 0, "%s: %v", lines, said)
		require.Contains(t, strings.Join(said, "\n"), want, lines)
	}
}

// How long a start may take is the timeout's word; without an end there is no limit.
func TestStartLimits(t *testing.T) {
	for lines, want := range map[string]time.Duration{"": 90 * time.Second, "TimeoutSec=5": 5 * time.Second, "TimeoutStartSec=infinity": 0,
		"TimeoutStartSec=0": 0} {
		require.Equal(t, want, unitOf(t, "Restart=no\n"+lines).StartLimit, lines)
	}
}

// A line that goes on is one line, and those after it keep their numbers.
func TestLinesOfUnits(t *testing.T) {
	require.Equal(t, 3*time.Second, unitOf(t, "# c\n; c\n\n ExecStartPre = /bin/sleep \\\n 1 \\\n2\n").Returns[Kill].After)
	for text, want := range map[string]string{
		"[Service]\nExecStartPre=/bin/sleep \\\n1\nRestartSec=soon": "x.service:4:1: RestartSec=soon",
		"[Service]\nExecStartPre=/bin/sleep 1 \\":                   "x.service:2:1: sleep 1 \\ is not a time",
		"[Service]\n[Unit":                    "x.service:2:1: this is not a line of a unit",
		"[Service]\nUnit]":                    "x.service:2:1: this is not a line of a unit",
		"\nx=y":                               "x.service:2:1: this is not a line of a unit",
		"[Unit]\nStartLimitBurst=-1":          "x.service:2:1: StartLimitBurst is not a number",
		"[Unit]\nStartLimitBurst=x":           "x.service:2:1: StartLimitBurst is not a number",
		"[Unit]\nStartLimitIntervalSec=x":     "x.service:2:1: StartLimitIntervalSec=x: this is not a time span",
		"[Service]\nExecStartPre=sleep \"1":   "x.service:2:1: the quotes are not balanced",
		"[Service]\nTimeoutStartSec=tomorrow": "x.service:2:1: TimeoutStartSec=tomorrow: this is not a time span",
	} {
		_, err := ParsePolicy("x.service", []byte(text), "")
		require.ErrorContains(t, err, want, text)
	}
}

func TestTheLongestTimeSpan(t *testing.T) {
	for text, right := range map[string]bool{"1000h": true, "1001h": false, "600h 400h": true, "600h 401h": false, "": false} {
		_, err := parseTimeSpan(text)
		require.Equal(t, right, err == nil, text)
	}
}

func TestAsManyDropInsAsAreRead(t *testing.T) {
	folder := t.TempDir()
	unit := write(t, folder, "redis.service", "[Service]\nRestart=always\n")
	require.NoError(t, os.Mkdir(unit+".d", 0o755))
	for i := range mostFiles {
		write(t, unit+".d", fmt.Sprintf("%03d.conf", i), "")
	}
	_, err := Disk.ReadPolicy(unit, "")
	require.NoError(t, err)
	write(t, unit+".d", "more.conf", "")
	_, err = Disk.ReadPolicy(unit, "")
	require.ErrorContains(t, err, "holds more than 200 drop-ins")
	require.NoError(t, os.Rename(filepath.Join(unit+".d", "more.conf"), filepath.Join(unit+".d", "more.txt")))
	_, err = Disk.ReadPolicy(unit, "")
	require.NoError(t, err, "what is no .conf is none")
}

// A timeout that is too short is told of where it stands, and where none does, of the server's command.
func TestWhereATimeoutIsTooShort(t *testing.T) {
	for lines, at := range map[string]string{
		"TimeoutSec=20\nExecStart=redis-server\nExecStartPre=/bin/sleep 20": "x.service:2",
		"ExecStartPre=/bin/sleep 95\nExecStart=redis-server":                "x.service:3",
	} {
		require.Equal(t, at, unitOf(t, lines).Remarks[0].Place.String(), lines)
	}
}
