package validate

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/validate/settings"
)

func engine(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "docker", args...)
	command.Stdin = bytes.NewReader(stdin)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "docker %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// serverImage makes an image of this machine's redis-server and its libraries.
func serverImage(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	needs.Check(t, needs.Engine, exec.CommandContext(ctx, "docker", "info").Run())
	program, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	libraries, err := exec.Command("ldd", program).Output()
	needs.Check(t, needs.System, err)
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	add := func(file, name string) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755,
			Size: int64(len(data))}))
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	add(program, "/usr/local/bin/redis-server")
	for _, library := range regexp.MustCompile(`/\S+\.so\S*`).FindAllString(string(libraries), -1) {
		add(library, library)
	}
	require.NoError(t, w.Close())
	name := fmt.Sprintf("redis:lockproof-validate-%d", os.Getpid())
	engine(t, image.Bytes(), "import", "--change", "WORKDIR /data", "-", name)
	t.Cleanup(func() { engine(t, nil, "rmi", "--force", name) })
	return name
}

// The engine and the server in the container both report settings; a difference between them is a finding.
func TestContainer_JudgedByEngineAndServer(t *testing.T) {
	needs.Long(t, "it makes an image and runs a container of it")
	name := fmt.Sprintf("lockproof-validate-%d", os.Getpid())
	image := serverImage(t)
	engine(t, nil, "run", "--detach", "--name", name, "--restart", "always", "--volume", name+":/data", "--publish",
		"127.0.0.1::6379", image,
		"redis-server", "--protected-mode", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	t.Cleanup(func() {
		engine(t, nil, "rm", "--force", name)
		engine(t, nil, "volume", "rm", name)
	})
	address := engine(t, nil, "port", name, "6379/tcp")
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 30*time.Second,
		50*time.Millisecond)
	inspected := file(t, "inspect.json", engine(t, nil, "inspect", name))

	a := runner(t, "", 0)
	a.Server = asked(t, address, inspected)
	require.Equal(t, []Verdict{Safe, Safe, Safe}, verdicts(judged(t, a)), "%+v", a.Server.Links)
	require.Empty(t, a.Server.Redis.Unknown)
	a.Server = asked(t, address)
	require.Equal(t, []Verdict{Inconclusive, Inconclusive, Inconclusive}, verdicts(judged(t, a)),
		"by itself it does not know on which volume of its container its data are")
	require.NoError(t, client.ConfigSet(t.Context(), "appendfsync", "no").Err())
	broken := fmt.Sprint(asked(t, address, inspected).Broken(settings.PowerLoss, false))
	require.Contains(t, broken, "the file says appendfsync always, and the running server ("+address+
		") has appendfsync no")
}
