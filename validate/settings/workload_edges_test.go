package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doubts gives what a policy's remarks put in doubt.
func doubts(p Policy) (found []Crash) {
	for _, r := range p.Remarks {
		found = append(found, r.Doubts...)
	}
	return found
}

// The probe's limit is its delay, and as many periods as it may fail.
func TestProbeLimits(t *testing.T) {
	const s = time.Second
	for text, want := range map[string]time.Duration{
		"{}":                  0,
		"{startupProbe: {}}":  0,
		"{livenessProbe: {}}": 30 * s,
		"{livenessProbe: {initialDelaySeconds: 5, periodSeconds: 2, failureThreshold: 4}}": 13 * s,
		"{livenessProbe: {periodSeconds: 2}, startupProbe: {periodSeconds: 7}}":            21 * s,
		"{livenessProbe: {initialDelaySeconds: 0, periodSeconds: 1000000}}":                3e6 * s,
		"{livenessProbe: {periodSeconds: 1000001}}":                                        30 * s,
		"{livenessProbe: {periodSeconds: -1}}":                                             30 * s,
		"{livenessProbe: {periodSeconds: 0}}":                                              0,
		"{livenessProbe: {periodSeconds: x}}":                                              30 * s,
	} {
		documents, err := readDocuments("x.yaml", []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, probeLimit(documents[0].root), text)
	}
	for sleep, want := range map[string][]Crash{"29": nil, "30": Crashes} {
		p, err := ParsePolicy("x.yaml", []byte("kind: Pod\nspec: {volumes: [{hostPath: {path: /x}}], containers: "+
			"[{name: redis, command: [sh, -c, sleep "+sleep+"; redis-server], livenessProbe: {}}]}"), "")
		require.NoError(t, err)
		require.Equal(t, want, doubts(p))
	}
}

// Which of several is judged: the one that is named, else the one that runs Redis.
func TestWhichServiceIsJudged(t *testing.T) {
	for text, want := range map[string]string{
		"services: {a: {image: redis:7}}":                                                                                  "a",
		"services: {a: {image: postgres}}":                                                                                 "a",
		"services: {a: {image: postgres}, b: {image: valkey}}":                                                             "b",
		"services: {my-redis: {build: .}, web: {image: nginx}}":                                                            "my-redis",
		"services: {b: {image: redis}, a: {image: redis}}":                                                                 "a, and b is left",
		"kind: Pod\nspec: {containers: [{name: a, image: redis}]}":                                                         "a",
		"kind: Pod\nspec: {containers: [{name: web, image: nginx}, {name: b, image: valkey}]}":                             "b",
		"kind: Service\n---\nkind: DaemonSet\nspec: {template: {spec: {containers: [{name: redis}]}}}":                     "redis",
		"kind: ReplicaSet\nspec: {template: {spec: {containers: [{name: redis, image: x}, {name: other, image: redis}]}}}": "redis",
	} {
		p, err := ParsePolicy("x.yaml", []byte(text), "")
		require.NoError(t, err, text)
		name, several := strings.CutSuffix(want, ", and b is left")
		require.Equal(t, name, p.Service, text)
		said := ""
		for _, r := range p.Remarks {
			said += r.What
		}
		require.Equal(t, several, strings.Contains(said, "of the services a, b, a is judged"), said)
		require.Equal(t, several, strings.Contains(said, "of the services"), said)
	}
	for text, want := range map[string]string{
		"kind: Pod\nspec: {containers: [{name: web}, {name: db}]}": "no Pod, Deployment, StatefulSet, DaemonSet or ReplicaSet " +
			"here runs a Redis; name one with --service: there are db, web",
		"kind: Service": wantedPolicy,
	} {
		_, err := ParsePolicy("x.yaml", []byte(text), "")
		require.ErrorContains(t, err, want, text)
	}
	_, err := ParsePolicy("x.yaml", []byte("kind: Pod\nspec: {containers: [{name: redis}]}"), "other")
	require.ErrorContains(t, err, `there is no container "other"; name one with --service: there are redis`)
	p, err := ParsePolicy("x.yaml", []byte("kind: Pod\nspec: {containers: [{name: redis}, {name: db, image: mine}]}"), "db")
	require.NoError(t, err)
	require.Equal(t, "db", p.Service)
}

// How soon an engine or a swarm restarts a service.
func TestRestartsOfServices(t *testing.T) {
	for more, want := range map[string]time.Duration{
		"":                                       0,
		"restart: no":                            0,
		"restart: false":                         0,
		"restart: always":                        engineBackoff,
		"restart: on-failure:3":                  engineBackoff,
		"restart: unless-stopped":                engineBackoff,
		"deploy: {restart_policy: {delay: 35s}}": engineBackoff,
		"deploy: {restart_policy: {delay: 0s}}":  engineBackoff,
		"deploy: {restart_policy: {condition: none, delay: 35s}}": 0,
		"deploy: {replicas: 1}":                                   0,
		"restart: no, deploy: {restart_policy: {delay: 35s}}":     0,
		"restart: always, deploy: {restart_policy: {delay: 35s}}": engineBackoff,
	} {
		p, err := ParsePolicy("x.yaml", []byte("services: {redis: {image: redis, "+more+"}}"), "")
		require.NoError(t, err, more)
		require.Equal(t, want, p.Returns[Kill].After, more)
		require.Zero(t, p.Returns[PowerLoss].After, more)
	}
	for _, delay := range []string{"-1s", "soon"} {
		_, err := ParsePolicy("x.yaml", []byte("services: {redis: {deploy: {restart_policy: {delay: "+delay+"}}}}"), "")
		require.ErrorContains(t, err, "delay: "+delay+": this is not a duration")
	}
}

func TestWhatARemarkSays(t *testing.T) {
	at := Place{"x", 3}
	for want, doubts := range map[string][]Crash{
		"x:3: y": nil, "x:3: y (kill is in doubt)": {Kill}, "x:3: y (every crash is in doubt)": Crashes,
	} {
		require.Equal(t, want, Remark{Place: at, What: "y", Doubts: doubts}.String())
	}
	for want, p := range map[string]*Problem{
		"x:3:7: a; b": {Place: at, Column: 7, What: "a", Right: "b"}, "x:3:1: a; b": {Place: at, What: "a", Right: "b"},
		"x: a; b": {Place: Place{File: "x"}, Column: 7, What: "a", Right: "b"},
	} {
		require.EqualError(t, p, want)
	}
}

// What a path is below a folder that is mounted.
func TestWhatComesBelowAMount(t *testing.T) {
	for _, tt := range []struct {
		file, folder, rest string
		below              bool
	}{
		{"/a/b", "/a", "b", true}, {"/a/b/c", "/a/", "b/c", true}, {"/a", "/a", "", true}, {"/a/../b", "/b", "", true},
		{"/ab", "/a", "", false}, {"/a", "/a/b", "", false}, {"/a", "", "", false}, {"/a", ".", "", false}, {"/a/b", "/", "a/b", true},
	} {
		rest, below := within(tt.file, tt.folder)
		require.Equal(t, tt.below, below, tt)
		if below {
			require.Equal(t, tt.rest, rest, tt)
		}
	}
}

// A bind mount in each of its forms; a named volume is none.
func TestMounts(t *testing.T) {
	for text, want := range map[string][2]string{
		"./a:/b": {"./a", "/b"}, "/a:/b:ro": {"/a", "/b"}, "~/a:/b": {"~/a", "/b"}, "$A:/b": {"$A", "/b"}, "data:/b": {}, "/a": {},
		"{type: bind, source: a, target: /b}": {"a", "/b"}, "{type: volume, source: a, target: /b}": {}, "{./a: /b}": {"./a", "/b"},
		"{./a: '/b:ro'}": {"./a", "/b"}, "{type: bind}": {}, "7": {},
	} {
		documents, err := readDocuments("x.yaml", []byte("m: "+text))
		require.NoError(t, err, text)
		from, to := mounted(documents[0].root["m"])
		require.Equal(t, want, [2]string{from, to}, text)
	}
}

// A container's image starts the command where the file names no other program for that.
func TestWhoStartsTheCommand(t *testing.T) {
	for text, byImage := range map[string]bool{
		"services: {redis: {command: redis-server}}":                                                  true,
		"services: {redis: {entrypoint: docker-entrypoint.sh, command: redis-server}}":                false,
		"kind: Pod\nspec: {containers: [{name: redis, args: [redis-server]}]}":                        true,
		"kind: Pod\nspec: {containers: [{name: redis, command: [redis-server], args: [--save, '']}]}": false,
	} {
		p, err := ParsePolicy("x.yaml", []byte(text), "")
		require.NoError(t, err)
		require.Equal(t, byImage, p.ByImage, text)
	}
}

// Why a service stays away: for its command's sleep, if it has one.
func TestWhyAServiceStaysAway(t *testing.T) {
	for command, why := range map[string]string{
		"sh -c 'sleep 31; redis-server'": "its command sleeps for 31s at every start", "redis-server": "docker restart brings it back at once",
	} {
		p, err := ParsePolicy("x.yaml", []byte("services:\n  redis:\n    command: "+command), "")
		require.NoError(t, err)
		require.Equal(t, why, p.Returns[Shutdown].Why)
	}
}
