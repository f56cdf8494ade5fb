package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// bad are workers that break the protocol: their first messages, those after their first command, and the end of the
// error's text.
var bad = map[string]struct {
	first, then func(setup client.Setup)
	want        string
}{
	"babbles": {first: says("hello there"), want: `wrote "hello there", which is not a message: ` +
		`standard output has JSON objects alone`},
	"begins with events":      {first: says(`{"done":1}`), want: "but its first message must be its hello"},
	"a key's name without it": {first: says(`{"lock":{"keys":["lock"]}}`), want: `is named with {key} in the key's place`},
	"lacks what nobody needs": {first: says(`{"lock":{"lacks":{"luck":"none"}}}`),
		want: `though there is no "luck" to lack`},
	"dies": {first: func(client.Setup) {
		fmt.Fprintln(os.Stderr, "no such module")
		os.Exit(3)
	}, want: "ended with exit status 3; on stderr it said: no such module"},
	"says nothing": {first: says(),
		want: `has said nothing for 10s: its first message must be its hello, {"lock":{...}}`},
	"closes its output": {first: says(`{"lock":{}}`), then: func(client.Setup) { os.Stdout.Close() },
		want: "has closed its standard output, and runs on"},
	"dies later": {first: says(`{"lock":{}}`), then: func(client.Setup) { os.Exit(3) },
		want: "ended with exit status 3"},
	"not UTF-8": {first: says("{\"lock\":{\"name\":\"\xff\"}}"), want: "which is not a message: it is not UTF-8"},
	"a wrong type": {first: says(`{"lock":{"extends":"yes"}}`), want: `the field "lock.extends" is a string; it must ` +
		`be true or false`},
	"an unknown key": {first: says(`{"lock":{}}`), then: says(`{"finished":1}`), want: `unknown field "finished"`},
	"gives up":       {first: says(`{"error":"the setup lacks nodes"}`), want: "gave up: the setup lacks nodes"},
	"a long line": {first: func(client.Setup) { fmt.Println(strings.Repeat("x", 1<<20)) },
		want: "wrote a line of more than 65536 bytes"},
	"answers twice": {first: says(`{"lock":{}}`), then: says(`{"done":1,"error":"no"}`, `{"done":1,"error":"no"}`),
		want: "though it has said so of command 1, acquire, before"},
	"wrong serial": {first: says(`{"lock":{}}`), then: says(`{"done":7,"outcome":"ok"}`),
		want: "though no command has the serial 7: under way: 1 (acquire)"},
	"does nothing": {first: says(`{"lock":{}}`), then: says(`{"done":1,"outcome":"ok"}`),
		want: "though no acquire has begun"},
	"future": {first: says(`{"lock":{}}`), then: says(
		`{"event":{"time":9000000000000000000,"process":"c1","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: "ahead of the true clock"},
	"past": {first: says(`{"lock":{}}`), then: says(
		`{"event":{"time":1,"process":"c1","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: "before its command was given"},
	"another's name": {first: says(`{"lock":{}}`),
		then: says(`{"event":{"time":1,"process":"c2","type":"invoke","op":"acquire","id":1,"key":"k1"}}`),
		want: `though its process is "c1"`},
	"floods": {first: says(`{"lock":{}}`), then: func(client.Setup) {
		for {
			fmt.Println(`{"event":{"time":1,"process":"c1","type":"stall","late":1}}`)
		}
	}, want: "though no stall overlaps the one before"},
}

func says(lines ...string) func(client.Setup) {
	return func(client.Setup) {
		for _, line := range lines {
			fmt.Println(line)
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := newBench([]string{os.Args[0], "bad-worker", name})
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
	for _, line := range []string{"", "  ", "python3 'my_lock.py", `python3 \`} {
		_, err := Split(line)
		require.Error(t, err, line)
	}
}

func TestCheck_ReportsEachFaultOnItsLine(t *testing.T) {
	for name, line := range map[string]string{
		"dies":          "wrong starts, and says what its lock is: worker c1 ",
		"answers twice": "ok    starts, and says what its lock is\nwrong acquire: a free key is granted: ",
		"does nothing":  "ok    starts, and says what its lock is\nwrong acquire: a free key is granted: ",
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
		m.events = append(m.events, e)
		require.Equal(t, want, m.lastReason())
	}
}
