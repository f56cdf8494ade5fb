package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/wording"
)

// bad are workers that break the protocol: their first messages, those after their first command, and the end of the
// error's text.
var bad = map[string]struct {
	first, then func(setup client.Setup)
	want        string
}{
	"babbles": {first: says("hello there"), want: `wrote "hello there": not a message: want one JSON ` +
		`object a line on standard output`},
	"begins with events": {first: says(`{"done":1}`), want: "the first message must be the hello"},
	"a key's name without it": {first: says(`{"lock":{"keys":["lock"]}}`),
		want: `"keys": each name must contain {key} once`},
	"lacks what nobody needs": {first: says(`{"lock":{"lacks":{"luck":"none"}}}`),
		want: `"lacks": unknown feature "luck"`},
	"declares what is observed": {first: says(`{"lock":{"renews":true}}`),
		want: `"servers", "renews" and "notices" are not for a hello`},
	"leaves a daemon": {first: func(client.Setup) {
		daemon := exec.Command("setsid", "sleep", "5")
		daemon.Stderr = os.Stderr
		_ = daemon.Start()
		fmt.Println(`{"lock":{}}`)
	}, then: func(client.Setup) { os.Exit(0) }},
	"dies": {first: func(client.Setup) {
		fmt.Fprintln(os.Stderr, "no such module")
		os.Exit(3)
	}, want: "ended with exit status 3; on stderr it said: no such module"},
	"says nothing": {first: says(),
		want: `wrote nothing in 10s: its first message must be its hello, {"lock":{...}} on a line of its own`},
	"no newline": {first: func(client.Setup) { fmt.Print(`{"lock":{}}`) },
		want: `wrote "{\"lock\":{}}" without a newline at its end in 10s: its first message must be its hello`},
	"ends before its hello": {first: func(client.Setup) { os.Exit(0) }, want: "before its hello, worker c1 "},
	"a long story": {first: func(client.Setup) {
		fmt.Fprintln(os.Stderr, strings.Repeat("noise\n", 1<<18), "no such module")
		os.Exit(3)
	}, want: "noise\n no such module"},
	"hangs":              {first: says(`{"lock":{}}`), then: says()},
	"greets twice":       {first: says(`{"lock":{}}`, `{"lock":{}}`)},
	"cuts a message off": {first: says(`{"lock":{}}`), then: func(client.Setup) { fmt.Print(`{"done":1`) }},
	"closes its output": {first: says(`{"lock":{}}`), then: func(client.Setup) { os.Stdout.Close() },
		want: "has closed its standard output and still runs"},
	"dies later": {first: says(`{"lock":{}}`), then: func(client.Setup) { os.Exit(3) },
		want: "ended with exit status 3"},
	"not UTF-8": {first: says("{\"lock\":{\"name\":\"\xff\"}}"), want: ": not a message: it is not UTF-8"},
	"a wrong type": {first: says(`{"lock":{"extends":"yes"}}`), want: `the field "lock.extends" is a string; it must ` +
		`be true or false`},
	"an unknown key": {first: says(`{"lock":{}}`), then: says(`{"finished":1}`), want: `unknown field "finished"`},
	"gives up":       {first: says(`{"error":"the setup lacks nodes"}`), want: "gave up: the setup lacks nodes"},
	"a long line": {first: func(client.Setup) { fmt.Println(strings.Repeat("x", 1<<20)) },
		want: "wrote a line of more than 65536 bytes"},
	"answers twice": {first: says(`{"lock":{}}`), then: says(`{"done":1,"error":"no"}`, `{"done":1,"error":"no"}`),
		want: "command 1 (acquire) has ended already"},
	"wrong serial": {first: says(`{"lock":{}}`), then: says(`{"done":7,"outcome":"ok"}`),
		want: "no command has the serial 7; pending: 1 (acquire)"},
	"does nothing": {first: says(`{"lock":{}}`), then: says(`{"done":1,"outcome":"ok"}`),
		want: "no acquire has begun: send its invoke event and its outcome event first"},
	"future": {first: says(`{"lock":{}}`), then: says(
		`{"event":{"time":9000000000000000000,"process":"c1","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: "ahead of the true clock"},
	"past": {first: says(`{"lock":{}}`), then: says(
		`{"event":{"time":1,"process":"c1","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: `before the command was sent: "time" must be the nanoseconds of CLOCK_MONOTONIC`},
	"another's name": {first: says(`{"lock":{}}`),
		then: says(`{"event":{"time":1,"process":"c2","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: `"process" must be "c1"`},
	"a release without a lease": {first: says(`{"lock":{}}`),
		then: grants(`"type":"invoke","op":"release","id":2,"key":"k1"`),
		want: `"lease" must be the id of the acquire that was granted the lease: there is no lease 0`},
	"a lease on another key": {first: says(`{"lock":{}}`),
		then: grants(`"type":"invoke","op":"release","id":2,"lease":1,"key":"k2"`),
		want: `"key" is "k2", but lease 1 is on "k1"`},
	"floods": {first: says(`{"lock":{}}`), then: func(client.Setup) {
		for {
			fmt.Println(`{"event":{"time":1,"process":"c1","type":"stall","late":1}}`)
		}
	}, want: "the stall overlaps the one before it"},
}

func says(lines ...string) func(client.Setup) {
	return func(client.Setup) {
		for _, line := range lines {
			fmt.Println(line)
		}
	}
}

// grants grants the first acquire, and then sends one more event.
func grants(more string) func(client.Setup) {
	return func(setup client.Setup) {
		now := realtime.Since(setup.Epoch).Now
		for _, fields := range []string{`"type":"invoke","op":"acquire","id":1,"key":"k1"`,
			`"type":"ok","op":"acquire","id":1,"lease":1,"key":"k1","validity":1000000`, more} {
			fmt.Printf(`{"event":{"time":%d,"process":"c1",%s}}`+"\n", now(), fields)
		}
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "bad-worker" {
		os.Exit(m.Run())
	}
	var setup client.Setup
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	if json.Unmarshal(lines.Bytes(), &setup) != nil {
		os.Exit(1)
	}
	worker := bad[os.Args[2]]
	worker.first(setup)
	for lines.Scan() {
		if worker.then != nil {
			worker.then(setup)
		}
	}
}

func TestCheck_DescribesTheProtocolError(t *testing.T) {
	for name, c := range bad {
		if c.want == "" { // it has a test of its own
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := newBench(t.Context(), []string{os.Args[0], "bad-worker", name})
			require.NoError(t, err)
			m, err := b.client(0)
			if c.then != nil {
				require.NoError(t, err)
				serial, sendErr := m.send(client.Command{Do: client.DoAcquire, Key: "k1", Within: time.Second})
				require.NoError(t, sendErr)
				err = m.until(5*time.Second, func() bool { return false })
				require.NotErrorIs(t, err, errTimeout, "command %d", serial)
			}
			require.ErrorContains(t, err, c.want)
			require.NoError(t, b.close())
		})
	}
}

// oneClient starts a worker on a bench of its own.
func oneClient(t *testing.T, command ...string) *testClient {
	t.Helper()
	b, err := newBench(t.Context(), command)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.close() })
	m, err := b.client(0)
	require.NoError(t, err)
	return m
}

// acquire sends the command to acquire, and waits for its end.
func (c *testClient) acquire(t *testing.T, within, atMost time.Duration) error {
	t.Helper()
	serial, err := c.send(client.Command{Do: client.DoAcquire, Key: "k1", Within: within})
	require.NoError(t, err)
	_, err = c.await(serial, atMost)
	return err
}

func TestSend_AfterABreach_NamesIt(t *testing.T) {
	m := oneClient(t, os.Args[0], "bad-worker", "greets twice")
	<-m.worker.Process().Gone()
	_, err := m.send(client.Command{Do: client.DoAcquire, Key: "k1"})
	require.ErrorContains(t, err, "the hello comes once, as the first message")
}

func TestAwait_MessageWithoutNewline_IsShown(t *testing.T) {
	m := oneClient(t, os.Args[0], "bad-worker", "cuts a message off")
	require.EqualError(t, m.acquire(t, 0, time.Second), `c1 did not report the end of command 1 within 1s: want `+
		`{"done":1} with its outcome; it wrote "{\"done\":1" without a newline at its end`)
}

// A process that left the worker's group is not a failure of the worker, even if it keeps standard error open.
func TestClose_WorkerLeavesADaemon_NoError(t *testing.T) {
	m := oneClient(t, os.Args[0], "bad-worker", "leaves a daemon")
	require.NoError(t, m.worker.Close())
}

// A worker that hangs in its start, or later, delays no Ctrl-C.
func TestCheck_Interrupted_EndsAtOnce(t *testing.T) {
	for _, name := range []string{"says nothing", "hangs"} {
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer stop()
		var out bytes.Buffer
		begun := time.Now()
		require.ErrorIs(t, Check(ctx, []string{os.Args[0], "bad-worker", name}, &out), context.DeadlineExceeded, name)
		require.Less(t, time.Since(begun), replyTimeout, name)
		require.NotContains(t, out.String(), "failed")
	}
}

func TestCheck_MissingProgram(t *testing.T) {
	k, err := Kind(context.Background(), []string{"no-such-program"}, false)
	require.NoError(t, err)
	require.ErrorContains(t, k.Err, "there is no program no-such-program")
	_, err = Kind(context.Background(), []string{"/bin/true/" + locks.Reference}, false)
	require.ErrorContains(t, err, "is reserved: choose another")
}

func TestSplit_LikeAShell(t *testing.T) {
	words, err := Split(`python3 'my lock.py' --name="a \"b\"" c\ d ''`)
	require.NoError(t, err)
	require.Equal(t, []string{"python3", "my lock.py", `--name=a "b"`, "c d", ""}, words)
	again, err := Split(wording.Command(words))
	require.NoError(t, err)
	require.Equal(t, words, again)
	for _, line := range []string{"", "  ", "python3 'my_lock.py", `python3 \`} {
		_, err := Split(line)
		require.Error(t, err, line)
	}
}

func TestCheck_NoTemporaryFolder_IsNoFaultOfTheWorker(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	err := Check(t.Context(), []string{"true"}, io.Discard)
	require.ErrorContains(t, err, "no such file or directory")
	require.NotErrorIs(t, err, ErrWrong)
}

func TestFingerprint_ChangesWithTheScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "my_lock.py")
	of := func(text string, more ...string) string {
		require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
		return Fingerprint(append([]string{"sh", script}, more...))
	}
	first := of("a")
	require.Equal(t, first, of("a"))
	require.NotEqual(t, first, of("b"))
	require.NotEqual(t, first, of("a", "--ttl=1"))
}

func TestCheck_ReportsEachFaultOnItsLine(t *testing.T) {
	for name, line := range map[string]string{
		"dies":          "failed  start: it sends its hello: before its hello, worker c1 ",
		"answers twice": "ok      start: it sends its hello\nfailed  acquire: a free key is granted: ",
		"does nothing":  "ok      start: it sends its hello\nfailed  acquire: a free key is granted: ",
	} {
		var out bytes.Buffer
		require.ErrorIs(t, Check(context.Background(), []string{os.Args[0], "bad-worker", name}, &out), ErrWrong)
		require.Contains(t, out.String(), line)
	}
}

func TestCheck_SaysWhyAnOperationFailed(t *testing.T) {
	m := &testClient{}
	require.Empty(t, m.lastReason())
	for want, e := range map[string]history.Event{
		"": {Type: history.TypeOK},
		"; its reason is: AttributeError: no 'nope'": {Type: history.TypeFail, Reason: "other",
			Error: "AttributeError: no 'nope'"},
		"; its reason is: held": {Type: history.TypeFail, Reason: "held"},
		"; its reason is: none": {Type: history.TypeInfo},
	} {
		e.Op = history.OpAcquire
		m.events = append(m.events, e, history.Event{Type: history.TypeStall})
		require.Equal(t, want, m.lastReason())
	}
}
