package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lostAfter are the crashes after which a server begins empty, and may begin empty, by their
// first letters: "ksp s".
func lostAfter(t *testing.T, file, text, conf string) string {
	t.Helper()
	p, err := ParsePolicy(file, []byte(text), "")
	require.NoError(t, err, text)
	s, err := Files{"x.conf": conf}.ReadSettings("x.conf", nil, p)
	require.NoError(t, err, text)
	lost, doubted := "", ""
	for _, c := range Crashes {
		if s.Lost[c] != "" {
			lost += string(c[:1])
		}
		for _, r := range s.Remarks {
			for _, d := range r.Doubts {
				if r.Data && d == c {
					doubted += string(c[:1])
				}
			}
		}
	}
	return strings.TrimSpace(lost + " " + doubted)
}

func TestWhereAServiceKeepsItsData(t *testing.T) {
	const top = "\nvolumes: {data: {}, mem: {driver_opts: {type: tmpfs}}}"
	for more, want := range map[string]string{
		"":                                    "s",
		"volumes: ['data:/data']":             "",
		"volumes: ['data:/data/']":            "",
		"volumes: ['/data']":                  "s",
		"volumes: ['./here:/data']":           "",
		"volumes: ['data:/database']":         "s",
		"volumes: ['data:/']":                 "s", // the image's own is nearer
		"volumes: ['${HERE:-/srv}:/data:rw']": "",
		"volumes: ['/dev/shm:/data']":         "p",
		"volumes: ['/run/x:/data']":           "p",
		"volumes: ['/tmp/x:/data']":           "p!",
		"volumes: ['mem:/data']":              "p ks",
		"volumes: [{type: volume, source: data, target: /data}]": "",
		"volumes: [{type: volume, target: /data}]":               "s",
		"volumes: [{type: tmpfs, target: /data}]":                "ksp",
		"volumes: [{type: bind, source: /run, target: /data}]":   "p",
		"tmpfs: /data":                              "ksp",
		"tmpfs: ['/data:size=1m']":                  "ksp",
		"tmpfs: [/other]":                           "s",
		"working_dir: /srv":                         "s",
		"working_dir: /dev/shm":                     "ksp",
		"working_dir: /srv, volumes: ['data:/srv']": "",
		"command: redis-server --dir /data/a, volumes: ['data:/data/a']":            "",
		"command: redis-server --dir a, tmpfs: /data/a":                             "ksp",
		"command: redis-server --dir /dev/shm/x":                                    "ksp",
		"command: redis-server --dir /dev/shm --dir /data, volumes: ['data:/data']": "", // the last counts
		"stop_signal: SIGKILL, volumes: ['data:/data']":                             "s!",
		"stop_signal: SIGINT, volumes: ['data:/data']":                              "",
		"stop_grace_period: 0s, volumes: ['data:/data']":                            "s!",
		"stop_grace_period: 1s, volumes: ['data:/data']":                            "",
		"stop_grace_period: soon, volumes: ['data:/data']":                          "",
	} {
		text := "services: {lock: {image: 'redis:7', " + more + "}}" + top
		switch got := lostAfter(t, "x.yaml", text, "save 60 1"); want {
		case "p!":
			require.Equal(t, "p", got, more)
		case "s!":
			require.Equal(t, "s", got, more)
			require.Empty(t, lostAfter(t, "x.yaml", text, "appendonly yes"), more)
		default:
			require.Equal(t, want, got, more)
		}
	}
	require.Equal(t, "ksp", lostAfter(t, "x.yaml", "services: {lock: {image: mine, entrypoint: [redis-server]}}", ""),
		"nobody knows where such an image keeps it")
	require.Equal(t, "", lostAfter(t, "x.yaml", "services: {lock: {image: mine, entrypoint: [redis-server], "+
		"working_dir: /d, volumes: ['data:/d']}}"+top, ""))
}

func TestWhereAPodKeepsItsData(t *testing.T) {
	const here, claim = "{name: a, mountPath: /data}", "{name: a, persistentVolumeClaim: {claimName: c}}"
	for _, tt := range []struct{ kind, mount, volume, more, want string }{
		{"Pod", "", "", "", "ksp"},
		{"Pod", "", claim, "", "ksp"},
		{"Pod", here, claim, "", ""},
		{"Pod", "{name: a, mountPath: /elsewhere}", claim, "", "ksp"},
		{"Pod", "{name: b, mountPath: /data}", claim, "", "ksp"},
		{"Pod", here, "{name: a, emptyDir: {}}", "", "s p"},
		{"Pod", here, "{name: a, emptyDir: }", "", "s p"},
		{"Pod", here, "{name: a, emptyDir: {medium: Memory}}", "", "sp"},
		{"Pod", here, "{name: a, ephemeral: {}}", "", "s p"},
		{"Pod", here, "{name: a, nfs: {path: /x}}", "", ""},
		{"Pod", here, "{name: a, hostPath: {path: /x}}", "", ""},
		{"Pod", here, "{name: a, hostPath: {path: /run/x}}", "", "p"},
		{"Deployment", here, "{name: a, hostPath: {path: /x}}", "", "sp"},
		{"Deployment", here, "{name: a, hostPath: {path: /dev/shm}}", "", "p sp"},
		{"Deployment", here, "{name: a, hostPath: {path: /x}}", "nodeName: n, ", ""},
		{"Deployment", here, "{name: a, hostPath: {path: /x}}", "nodeSelector: {a: b}, ", ""},
		{"Deployment", here, "{name: a, hostPath: {path: /x}}", "affinity: {nodeAffinity: {}}, ", ""},
		{"DaemonSet", here, "{name: a, hostPath: {path: /x}}", "", ""},
		{"StatefulSet", here, "", "", ""},
		{"StatefulSet", "{name: b, mountPath: /data}", "", "", "ksp"},
		{"Deployment", here, "", "", "ksp"}, // has no templates for claims
		{"StatefulSet", here, "", "terminationGracePeriodSeconds: 0, ", "s!"},
		{"StatefulSet", here, "", "terminationGracePeriodSeconds: 1, ", ""},
	} {
		spec := fmt.Sprintf("{%scontainers: [{name: redis, image: redis, volumeMounts: [%s]}], volumes: [%s]}", tt.more, tt.mount, tt.volume)
		text := "kind: Pod\nspec: " + spec
		if tt.kind != "Pod" {
			text = "kind: " + tt.kind + "\nspec: {template: {spec: " + spec + "}, volumeClaimTemplates: [{metadata: {name: a}}]}"
		}
		got := lostAfter(t, "x.yaml", text, "")
		require.Equal(t, strings.TrimSuffix(tt.want, "!"), got, text)
	}
}

func TestWhereAUnitKeepsItsData(t *testing.T) {
	for _, tt := range []struct{ dir, lines, want string }{
		{"", "", ""},
		{"./", "", ""},
		{"/var/lib/redis", "", ""},
		{"/dev/shm", "", "p"},
		{"/dev/shm2", "", ""},
		{"/run/redis", "", "p"},
		{"/var/run/redis", "", "p"},
		{"/tmp/redis", "", "p"},
		{"/tmpfiles", "", ""},
		{"/tmp/redis", "PrivateTmp=yes", "ksp"},
		{"/var/tmp/redis", "PrivateTmp=disconnected", "ksp"},
		{"/var/tmp/redis", "PrivateTmp=no", ""},
		{"", "WorkingDirectory=/dev/shm/x", "p"},
		{"", "WorkingDirectory=-/dev/shm/x", "p"},
		{"data", "WorkingDirectory=/dev/shm/x", "p"},
		{"/var/lib/redis", "WorkingDirectory=/dev/shm/x", ""},
		{"/run/redis", "RuntimeDirectory=other redis", "ksp"},
		{"/var/run/redis/a", "RuntimeDirectory=redis", "ksp"},
		{"/run/redis", "RuntimeDirectory=redis:link", "ksp"},
		{"/run/redis", "RuntimeDirectory=redis\nRuntimeDirectoryPreserve=yes", "p"},
		{"/run/redis", "RuntimeDirectory=redis\nRuntimeDirectoryPreserve=restart", "p s"},
		{"/var/lib/redis", "TemporaryFileSystem=/srv /var/lib:ro", "ksp"},
		{"/var/library", "TemporaryFileSystem=/var/lib", ""},
		{"/x", "KillSignal=SIGKILL", "s"},
		{"/x", "KillSignal=SIGQUIT", "s"},
		{"/x", "KillSignal=SIGINT", ""},
		{"/x", "KillSignal=15", ""},
		{"/x", "ExecStop=/bin/kill -9 $MAINPID", "s"},
		{"/x", "ExecStop=/bin/kill -s KILL $MAINPID", "s"},
		{"/x", "ExecStop=/bin/kill -s TERM $MAINPID", ""},
		{"/x", "ExecStop=/usr/bin/redis-cli shutdown nosave", "s"}, // in doubt, where there are snapshots
	} {
		conf := ""
		if tt.dir != "" {
			conf = "dir " + tt.dir
		}
		require.Equal(t, tt.want, lostAfter(t, "x.service", "[Service]\nExecStart=/usr/bin/redis-server\n"+tt.lines, conf), "%+v", tt)
	}
}

// Without a policy's file it is the machine's own folders that count.
func TestFoldersInMemory(t *testing.T) {
	for dir, want := range map[string]string{"/tmp": "doubted", "/dev/shm/": "lost", "/run/redis": "lost", "/var/run": "lost", "/data": "",
		"/tmpfiles": "", "./": ""} {
		s, err := Files{"x.conf": "dir " + dir}.ReadSettings("x.conf", nil, Delayed(0, ""))
		require.NoError(t, err)
		require.Equal(t, want == "lost", s.Lost[PowerLoss] != "", dir)
		require.Equal(t, want == "doubted", len(s.Remarks) == 1, dir)
	}
}

// SHUTDOWN NOSAVE and the like matter to snapshots alone.
func TestStopsThatSaveNothing(t *testing.T) {
	const unit = "[Service]\nExecStart=/usr/bin/redis-server\nExecStop=/usr/bin/redis-cli shutdown nosave\n"
	for conf, doubted := range map[string]int{"save 60 1": 1, "appendonly yes": 0, "shutdown-on-sigterm nosave": 2,
		"shutdown-on-sigterm nosave\nappendonly yes": 0} {
		p, err := ParsePolicy("x.service", []byte(unit), "")
		require.NoError(t, err)
		s, err := Files{"x.conf": conf}.ReadSettings("x.conf", nil, p)
		require.NoError(t, err)
		require.Len(t, s.Remarks, doubted, conf)
	}
}
