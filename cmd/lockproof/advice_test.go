package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/internal/needs"
	"lockproof/reports"
	"lockproof/validate"
)

// TestAdviceIsApplied makes each change that is advised for the configurations, with
// patch(1) as an operator does, and judges the files anew: then they are safe, and exit
// with 0. Each that is not safe for a reason in its files has such an advice.
func TestAdviceIsApplied(t *testing.T) {
	needs.Commands(t, "patch")
	root, err := filepath.Abs("testdata/configurations")
	require.NoError(t, err)
	diffs := 0
	for _, c := range configurations {
		t.Run(c.folder, func(t *testing.T) {
			flags := withoutTakeovers(c.flags)
			answer, out := adviceFor(t, filepath.Join(root, c.folder), flags)
			n := 0
			for i, a := range answer.Advice {
				if a.Diff == nil || a.File == validate.GuardedClients {
					continue
				}
				n++
				folder := t.TempDir()
				require.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(root, c.folder))))
				t.Chdir(folder)
				patched, err := exec.Command("patch", "-p1", "--fuzz=0", "-i",
					filepath.Join(out, "advice-"+strconv.Itoa(i+1)+".diff")).CombinedOutput()
				require.NoError(t, err, "%s\n%s", patched, a.Diff.Text)
				again, _ := adviceFor(t, folder, flags)
				require.Equal(t, 0, again.ExitCode, "%s\n%+v", a.Diff.Text, again.Rows)
			}
			require.Equal(t, advised[c.folder], n, "%+v", answer.Advice)
			diffs += n
		})
	}
	require.Greater(t, diffs, 20)
}

// advised is how many diffs each configuration gets that is not safe as it is: a sleep and an
// append-only file, one of the two, or none where what is in doubt is not in its files.
var advised = map[string]int{
	"31-unit-on-abnormal": 2, "32-unit-restartsec-infinity": 2, "38-unit-runtime-directory": 1,
	"39-unit-runtime-preserved": 1, "40-unit-in-memory": 1, "41-unit-private-tmp": 1, "44-unit-kill-signal": 1,
	"47-unit-notify-times-out": 1, "49-unit-start-limit": 2, "53-conf-twice": 1, "55-conf-saves": 1, "56-conf-volatile": 1,
	"59-conf-sigterm-nosave": 1, "62-conf-rewrite-snapshots": 1, "67-conf-aof-off": 1, "69-compose-tmpfs": 1,
	"70-compose-tmpfs-long": 1, "71-compose-shm": 1, "84-compose-on-failure": 2, "85-compose-deploy-delay": 2,
	"86-compose-stop-signal": 1, "87-compose-grace": 1, "88-compose-no-volume": 1, "89-compose-dir-elsewhere": 1,
	"90-compose-volume-tmpfs": 1, "93-compose-save-bare": 2, "98-statefulset-emptydir": 1,
	"99-statefulset-emptydir-memory": 1, "100-deployment-hostpath": 1, "102-statefulset-mount-elsewhere": 1,
	"109-statefulset-prestop": 2, "110-statefulset-grace": 1, "118-statefulset-ephemeral": 1, "01-unit-snapshots": 2,
	"02-unit-everysec": 2, "05-unit-restartsec": 2, "06-unit-restartsec-everysec": 2, "07-unit-times-out": 1,
	"11-compose-defaults": 1, "13-compose-cache": 2, "17-compose-config": 2, "18-compose-no-restart": 2,
	"20-compose-evicts": 1, "23-statefulset-everysec": 2, "24-deployment-no-volume": 1, "27-statefulset-probe": 1,
	"121-unit-dynamic-user-tmp": 1, "122-unit-prevent": 2, "128-compose-volume-device": 1,
	"129-compose-tmpfs-appenddir": 1, "133-compose-replicas-one-volume": 1, "136-compose-prestop-wipes": 1,
	"138-statefulset-init-wipes": 1, "141-statefulset-prestop-lines": 2, "142-statefulset-prestop-wipes": 1,
	"144-statefulset-csi-inline": 1, "145-statefulset-retention": 1, "146-deployment-subpathexpr": 1,
	"147-deployment-three-one-claim": 1, "148-statefulset-namespaces": 2, "149-chart-rendered": 2,
	"150-statefulset-appenddir-mount": 1, "151-statefulset-list": 2, "152-statefulset-list-nested": 2,
	"153-statefulset-list-json": 2, "154-statefulset-list-json-nested": 1,
}

// withoutTakeovers are flags that ask about crashes, which the files decide; what helps
// against takeovers is in the code of clients.
func withoutTakeovers(flags []string) []string {
	return append([]string{"--takeover", "failover"}, flags...)
}

type adviceAnswer struct {
	ExitCode int `json:"exit_code"`
	Rows     []validate.Row
	Advice   []validate.Advice
}

// adviceFor judges the policy of a folder from within it.
func adviceFor(t *testing.T, folder string, flags []string) (answer adviceAnswer, out string) {
	t.Helper()
	t.Chdir(folder)
	p := fake(expected)
	p.suite, out = once, t.TempDir()
	got := p.try(slices.Concat([]string{"validate", "--ttl", "30s", "--trials", "5", "--out", out}, policyHere(t), flags)...)
	require.Empty(t, got.err)
	data, err := os.ReadFile(filepath.Join(out, reports.ValidationFile))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &answer))
	return answer, out
}

// No secret of the files is told, whatever is advised: not in a line that stays, nor in one
// that changes.
func TestAdviceTellsNoSecret(t *testing.T) {
	needs.Commands(t, "patch")
	for name, files := range map[string]map[string]string{
		"a command": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    volumes: ['data:/data']\n" +
			"    command: redis-server --requirepass hunter22 --appendonly no\n"},
		"a list": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    volumes: ['data:/data']\n    command:\n      - redis-server\n      - --requirepass\n" +
			"      - hunter22\n      - --appendonly\n      - \"no\"\n"},
		"the environment": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    volumes: ['data:/data']\n    environment:\n      REDIS_PASSWORD: hunter22\n" +
			"    command: redis-server --appendonly no\n    labels: {token: hunter22}\n"},
		"redis.conf": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    command: redis-server /redis.conf\n" +
			"    volumes: ['./redis.conf:/redis.conf', 'data:/data']\n", "redis.conf": "requirepass hunter22\nappendonly no\nuser worker on >hunter22 ~* +@all\n"},
		"the last line": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    command: redis-server /redis.conf\n" +
			"    volumes: ['./redis.conf:/redis.conf', 'data:/data']\n", "redis.conf": "port 6379\nmasterauth hunter22"},
		"a Secret": {"workload.yaml": "kind: Pod\nspec:\n  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n  containers:\n" +
			"  - name: redis\n    image: redis:7\n    command: [redis-server]\n    workingDir: /data\n    volumeMounts: [{name: data, mountPath: /data}]\n---\nkind: Secret\nstringData:\n  some: hunter22\n"},
		"a word of a command": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    volumes: ['data:/data']\n" +
			"    command: [redis-server, '--requirepass hunter22', '--masterauth', hunter22, '--appendonly no']\nvolumes: {data: {}}\n"},
		"a URL": {"compose.yaml": "services:\n  lock:\n    image: redis:7\n    volumes: ['data:/data']\n" +
			"    environment: ['URL=redis://me:hunter22@lock:6379']\n    command: redis-server --appendonly no\nvolumes: {data: {}}\n"},
		"a unit": {"redis.service": "[Service]\nExecStart=/usr/bin/redis-server --requirepass hunter22 --appendonly no\nRestart=always\n"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
			}
			answer, out := adviceFor(t, folder, nil)
			require.Len(t, answer.Advice, 3)
			told, err := filepath.Glob(filepath.Join(out, "*.*"))
			require.NoError(t, err)
			for _, file := range told {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NotContains(t, string(data), "hunter22", file)
			}
			for i, a := range answer.Advice {
				if a.Diff == nil || a.Diff.Redacted {
					require.NoFileExists(t, filepath.Join(out, "advice-"+strconv.Itoa(i+1)+".diff"))
					continue
				}
				again := t.TempDir()
				require.NoError(t, os.CopyFS(again, os.DirFS(folder)))
				patch := exec.Command("patch", "-p1", "--fuzz=0", "-d", again)
				patch.Stdin = strings.NewReader(a.Diff.Text)
				said, err := patch.CombinedOutput()
				require.NoError(t, err, "%s\n%s", said, a.Diff.Text)
				after, _ := adviceFor(t, again, nil)
				require.Equal(t, 0, after.ExitCode, a.Diff.Text)
			}
		})
	}
}

// Nor is one told in what is refused, doubted or not known.
func TestNoSecretIsToldInAnyOtherWay(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		flags      []string
	}{
		"a directive with a slip":     {"redis.conf", "requirpass hunter22\nappendonly yes\n", nil},
		"a word with an equals sign":  {"compose.yaml", "services: {lock: {image: redis, command: redis-server --requirepass=hunter22}}", nil},
		"a line beside the file":      {"redis.conf", "appendonly yes\n", []string{"--set", "requirepass hunter22", "--set", "masterauth hunter22"}},
		"a slip beside the file":      {"redis.conf", "appendonly yes\n", []string{"--set", "requirpass hunter22"}},
		"a shell's variable":          {"compose.yaml", "services: {lock: {image: redis, command: [sh, -c, 'PASSWORD=hunter22 start']}}", nil},
		"a variable and nothing else": {"compose.yaml", "services: {lock: {image: redis, command: PASSWORD=hunter22}}", nil},
		"a Sentinel's":                {"redis.conf", "sentinel auth-pass lock hunter22\n", nil},
		"two passwords":               {"redis.conf", "requirepass hunter22 hunter22\nuser worker on >hunter22\n", nil},
		"a unit's environment":        {"redis.service", "[Service]\nEnvironment=REDIS_PASSWORD=hunter22\nExecStart=/usr/bin/redis-server --requirepass ${REDIS_PASSWORD}\n", nil},
		"a script of a unit":          {"redis.service", "[Service]\nExecStartPre=/bin/login --pass hunter22\nExecStart=/usr/bin/redis-server\n", nil},
		"a list that is no YAML":      {"compose.yaml", "services:\n  lock:\n    command: --requirepass hunter22\n   image: redis\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile(tt.file, []byte(tt.text), 0o600))
			p := fake(expected)
			flags := append([]string{"validate", "--out", "out"}, tt.flags...)
			if tt.file == "redis.conf" {
				flags = append(flags, "--config", tt.file)
			}
			for _, more := range [][]string{nil, {"--json"}} {
				got := p.try(slices.Concat(flags, policyHere(t), more)...)
				require.NotContains(t, got.out+got.err, "hunter22")
			}
			told, err := filepath.Glob("out/*.*")
			require.NoError(t, err)
			for _, file := range told {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NotContains(t, string(data), "hunter22", file)
			}
		})
	}
}
