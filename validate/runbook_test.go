package validate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

type realServer struct {
	t         *testing.T
	conf, dir string
	address   string
	client    *redis.Client
	process   *exec.Cmd
}

func startReal(t *testing.T, lines string) *realServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	s := &realServer{t: t, dir: t.TempDir(), address: fmt.Sprintf("127.0.0.1:%d", port)}
	s.conf = filepath.Join(s.dir, "redis.conf")
	require.NoError(t, os.WriteFile(s.conf, []byte(fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\n%s\n", port, s.dir,
		lines)), 0o600))
	s.client = redis.NewClient(&redis.Options{Addr: s.address, MaxRetries: -1})
	s.start(program)
	t.Cleanup(func() {
		s.client.Close()
		s.kill()
	})
	return s
}

func (s *realServer) start(program string) {
	s.process = exec.Command(program, s.conf)
	require.NoError(s.t, s.process.Start())
	require.Eventually(s.t, func() bool { return s.client.Ping(context.Background()).Err() == nil }, 20*time.Second,
		20*time.Millisecond)
}

func (s *realServer) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// restart stops the server as a service manager does, and starts it from its file.
func (s *realServer) restart() {
	require.NoError(s.t, s.process.Process.Signal(os.Interrupt))
	_ = s.process.Wait()
	s.start(s.process.Path)
}

func (s *realServer) keys() int64 { return s.client.DBSize(context.Background()).Val() }

func (s *realServer) do(step Step) {
	s.t.Helper()
	switch {
	case step.Redis != nil:
		words := append(strings.Fields(step.Client), step.Redis...)
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		require.NoError(s.t, err, "%s", words)
		require.Equal(s.t, "OK", strings.TrimSpace(string(out)), "%s", words)
	case step.Until != nil:
		require.Eventually(s.t, func() bool {
			info := s.client.Info(context.Background(), "persistence").Val()
			for _, want := range step.Until {
				if !strings.Contains(info, want+"\r\n") {
					return false
				}
			}
			return true
		}, 30*time.Second, 20*time.Millisecond)
	case step.Line != "":
		require.Equal(s.t, s.conf, step.Place.File)
		data, err := os.ReadFile(s.conf)
		require.NoError(s.t, err)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		name, _, _ := strings.Cut(step.Line, " ")
		replaced := false
		for i, line := range lines {
			if strings.HasPrefix(line, name+" ") {
				lines[i], replaced = step.Line, true
			}
		}
		if !replaced {
			lines = append(lines, step.Line)
		}
		require.NoError(s.t, os.WriteFile(s.conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
}

// asked is the server at an address, with files of it.
func asked(t *testing.T, address string, files ...string) *deploy.Server {
	t.Helper()
	reports, err := Ask(t.Context(), address, "")
	require.NoError(t, err)
	d, err := deploy.Read(files, deploy.Options{Running: reports})
	require.NoError(t, err)
	return d.Server
}

// The keys survive each step, a restart and a kill after the last one, and each step back followed by a kill.
func TestRunbooksLoseNoKey(t *testing.T) {
	for _, tt := range []struct{ lines, runbook string }{
		{"save 3600 1", "an append-only file, appendfsync always"},
		{"save 3600 1\nappendonly no", "an append-only file, appendfsync always"},
		{"save 3600 1\nappendonly no\nappendfsync no", "an append-only file, appendfsync always"},
		{"appendonly yes", "sync each lock"},
		{"appendonly yes\nappendfsync always\nmaxmemory 100mb\nmaxmemory-policy allkeys-lru",
			"set maxmemory-policy noeviction"},
		{"appendonly yes\nappendfsync always\nno-appendfsync-on-rewrite yes", "set no-appendfsync-on-rewrite no"},
	} {
		t.Run(tt.lines, func(t *testing.T) {
			s := startReal(t, tt.lines)
			write := func(from int) {
				for i := range 500 {
					require.NoError(t, s.client.Set(t.Context(), fmt.Sprintf("key-%d", from+i), "value", 0).Err())
				}
			}
			write(0)
			var book *Runbook
			answer := advised(t, about(t, s.conf))
			for i, r := range answer.Runbooks {
				if r.Name == tt.runbook {
					book = &answer.Runbooks[i]
				}
			}
			require.NotNil(t, book, "%+v", answer.Runbooks)
			for _, step := range book.Steps {
				s.do(step)
				require.EqualValues(t, 500, s.keys(), "%+v", step)
			}
			s.restart()
			require.EqualValues(t, 500, s.keys(), "after a restart")
			s.kill()
			s.start(s.process.Path)
			require.EqualValues(t, 500, s.keys(), "after a kill")
			write(500) // no snapshot of the forward steps has these keys
			for _, step := range book.Back {
				s.do(step)
				require.EqualValues(t, 1000, s.keys(), "back: %+v", step)
				s.kill()
				s.start(s.process.Path)
				require.EqualValues(t, 1000, s.keys(), "back: %+v, and a kill", step)
			}
			s.restart()
			require.EqualValues(t, 1000, s.keys(), "after the way back and a restart")
		})
	}
}

// A runbook has only commands of this server, with the flags that reach it. A change of a container names its cost.
func TestRunbookCommandsReachTheServer(t *testing.T) {
	const compose = "services:\n  locks:\n    restart: always\n    image: %s\n%s"
	for _, tt := range []struct{ name, file, text, has, hasNot string }{
		{"a port", "redis.conf", "port 7000\nsave 60 1", "redis-cli -p 7000 CONFIG SET", "redis-cli CONFIG"},
		{"CONFIG has another name", "redis.conf", "save 60 1\nrename-command CONFIG \"\"", "restart guard", "CONFIG SET"},
		{"many servers on one file", "redis.conf", "save 60 1", "once every server", "EMPTY"},
		{"a container", "compose.yaml", fmt.Sprintf(compose, "redis", "    volumes: [data:/data]\nvolumes: {data: }"),
			"docker compose exec locks redis-cli CONFIG", "EMPTY"},
		{"a server that answers WAITAOF too early", "compose.yaml", fmt.Sprintf(compose, "valkey/valkey:8",
			"    command: valkey-server --appendonly yes\n    volumes: [data:/data]\nvolumes: {data: }"),
			"sync each lock", "WAITAOF"},
		{"a server that answers WAITAOF in time", "compose.yaml", fmt.Sprintf(compose, "redis:8",
			"    command: redis-server --appendonly yes\n    volumes: [data:/data]\nvolumes: {data: }"),
			"WAITAOF after each SET", "EMPTY"},
		{"a container without a volume", "compose.yaml", fmt.Sprintf(compose, "redis", ""), "it may begin EMPTY",
			"- redis-cli"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := ""
			for _, r := range advised(t, about(t, file(t, tt.file, tt.text))).Runbooks {
				all += r.Name + "\n"
				for _, s := range r.Steps {
					all += fmt.Sprintln("-", s.Client, strings.Join(s.Redis, " "), s.Do, s.Line, s.Cost)
				}
			}
			require.Contains(t, all, tt.has)
			require.NotContains(t, all, tt.hasNot)
		})
	}
}

// The reason for the runbook: a server with only a snapshot that restarts with appendonly yes starts empty.
func TestARestartWithAppendonlyAloneLosesAllKeys(t *testing.T) {
	s := startReal(t, "save 3600 1")
	require.NoError(t, s.client.Set(t.Context(), "key", "value", 0).Err())
	s.do(Step{Line: "appendonly yes", Place: settings.Place{File: s.conf}})
	s.restart()
	require.Zero(t, s.keys())
}

func TestAsk_FileDiffersFromServer_IsReported(t *testing.T) {
	s := startReal(t, "save \"\"\nappendonly yes\nappendfsync always")
	a := runner(t, "", 0)
	a.Server = asked(t, s.address)
	answer := judged(t, a)
	// A test's folder is in /tmp, which is memory on many systems, and loses old files on others.
	require.Equal(t, []Verdict{Inconclusive, Inconclusive, Inconclusive}, verdicts(answer), "%+v", answer.Rows)
	require.Contains(t, answer.Rows[0].Reason, "emptied of what is old")
	require.True(t, a.Server.Redis.AppendOnly)
	require.Empty(t, a.Server.Redis.Unknown)

	require.NoError(t, s.client.ConfigSet(t.Context(), "appendfsync", "everysec").Err())
	broken := fmt.Sprint(asked(t, s.address, s.conf).Broken(settings.PowerLoss, false))
	require.Contains(t, broken, s.conf+":6: the file says appendfsync always, and the running server ("+
		s.address+") has appendfsync everysec")
	require.Contains(t, broken, "a restart brings the file's back")
}

func TestAsk_ClusterNode_BreaksTheChain(t *testing.T) {
	s := startReal(t, "cluster-enabled yes\nappendonly yes\nappendfsync always")
	require.Contains(t, fmt.Sprint(asked(t, s.address).Broken(settings.Kill, false)),
		"cluster-enabled yes: the masters of a Redis Cluster")
}
