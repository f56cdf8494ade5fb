package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/internal/input"
	"example.org/lockproof/internal/input/inputtest"
)

// setupLine is a worker's first line for servers on loopback.
func setupLine(t *testing.T, change func(*Setup)) string {
	t.Helper()
	s := Setup{Name: "c1", Lock: locks.Reference, Options: locks.Options{TTL: ttl}, Seed: 1}
	for i := range 4 {
		m := miniredis.RunT(t)
		m.Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
			if cmd == "INFO" {
				p.WriteBulk(fmt.Sprintf("run_id:%d\r\n", i))
			}
			return cmd == "INFO"
		})
		s.Nodes = append(s.Nodes, m.Addr())
	}
	s.Nodes, s.Store = s.Nodes[:3], s.Nodes[3]
	if change != nil {
		change(&s)
	}
	line, err := json.Marshal(s)
	require.NoError(t, err)
	return string(line) + "\n"
}

func serve(lines ...string) ([]Message, error) {
	var out bytes.Buffer
	err := ServeWorker(strings.NewReader(strings.Join(lines, "")), &out)
	var messages []Message
	for line := range strings.Lines(out.String()) {
		var m Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		messages = append(messages, m)
	}
	return messages, err
}

// session is a worker with pipes to and from it.
type session struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	ended chan error
}

func begin(t *testing.T, setup string) *session {
	in, write := io.Pipe()
	read, out := io.Pipe()
	s := &session{t: t, in: write, out: bufio.NewScanner(read), ended: make(chan error, 1)}
	go func() {
		err := ServeWorker(in, out)
		_ = out.Close()
		s.ended <- err
	}()
	s.write(setup)
	return s
}

func (s *session) write(lines string) {
	_, err := io.WriteString(s.in, lines)
	require.NoError(s.t, err)
}

// end closes the input, which ends the worker.
func (s *session) end() {
	go func() { _ = s.in.Close() }()
	s.until(0)
	require.NoError(s.t, <-s.ended)
}

// until reads messages up to the end of a command; 0: all.
func (s *session) until(serial int) (messages []Message) {
	for s.out.Scan() {
		var m Message
		require.NoError(s.t, json.Unmarshal(s.out.Bytes(), &m), "one object a line")
		messages = append(messages, m)
		if serial != 0 && m.Done == serial {
			break
		}
	}
	return messages
}

func TestWorker_RunsCommands(t *testing.T) {
	epoch := realtime.Monotonic() - int64(time.Hour)
	s := begin(t, setupLine(t, func(s *Setup) { s.Epoch = epoch }))
	s.write(`{"do":"acquire","serial":1,"key":"k1"}` + "\n")
	messages := s.until(1)
	require.Len(t, messages, 3)
	require.Equal(t, history.TypeInvoke, messages[0].Event.Type)
	require.GreaterOrEqual(t, messages[0].Event.Time, int64(time.Hour), "times are counted from the epoch")
	require.LessOrEqual(t, messages[0].Event.Time, realtime.Since(epoch).Now())
	require.Equal(t, history.TypeOK, messages[1].Event.Type)
	require.Equal(t, Message{Done: 1, Outcome: history.TypeOK}, messages[2])
	s.write(`{"do":"write","serial":2}` + "\n" + `{"do":"release","serial":3}` + "\n" + `{"do":"extend","serial":4}` +
		"\n")
	messages = s.until(4)
	require.Equal(t, Message{Done: 4, Outcome: history.TypeFail}, messages[len(messages)-1])
	s.write(`{"do":"exit","serial":5}` + "\n")
	messages = s.until(5)
	require.Equal(t, []Message{{Done: 5}}, messages)
	require.NoError(t, <-s.ended)
}

func TestWorker_Stalls_ReportsIt(t *testing.T) {
	s := begin(t, setupLine(t, func(s *Setup) { s.StallLimit = 1 })) // every process is later than 1 ns
	require.True(t, s.out.Scan())
	var m Message
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &m))
	require.Equal(t, history.TypeStall, m.Event.Type)
	require.Equal(t, "c1", m.Event.Process)
	require.Positive(t, m.Event.Late)
	s.end()
}

func TestWorker_BadLine_NamesTheMistake(t *testing.T) {
	good := setupLine(t, nil)
	for name, test := range map[string]struct {
		lines []string
		says  string
	}{
		"nothing at all":               {nil, "line 1: the input ended before the setup"},
		"no setup":                     {[]string{"hello\n"}, `line 1, "hello": column 1: this is not JSON`},
		"a setup with a typo":          {[]string{`{"nam":"c1"}` + "\n"}, `unknown field "nam"`},
		"a setup that lacks something": {[]string{`{"name":"c1","store":"s"}` + "\n"}, "it lacks nodes, options.ttl"},
		"two objects":                  {[]string{good, `{"do":"exit","serial":1} {}` + "\n"}, "line 2, "},
		"no such command": {[]string{good, `{"do":"aquire","serial":1}` + "\n"},
			"there are acquire, extend, release, check, read, write, watch, loop, stop, cancel, clock, starve, feed, exit"},
		"no serial": {[]string{good, `{"do":"check"}` + "\n"}, "serial: it counts from 1"},
		"a loop without keys": {[]string{good, `{"do":"loop","serial":1,"loop":{"keys":[],"hold":1,"think":1}}` + "\n"},
			"at least one key"},
		"a loop without a loop": {[]string{good, `{"do":"loop","serial":1}` + "\n"}, "loop: it is missing"},
		"a negative hold": {[]string{good, `{"do":"loop","serial":1,"loop":{"keys":["k1"],"hold":-1,"think":1}}` + "\n"},
			"must not be below 0"},
		"a clock without a clock": {[]string{good, `{"do":"clock","serial":1}` + "\n"}, "clock: it is missing"},
		"a clock that runs backwards": {[]string{good, `{"do":"clock","serial":1,"clock":{"rate":-1}}` + "\n"},
			"a rate from 0.01 to 100"},
		"a negative bound": {[]string{good, `{"do":"check","serial":1,"within":-1}` + "\n"}, "below 0"},
		"the second of two lines": {[]string{good, `{"do":"read","serial":1,"key":"k1"}` + "\n", "nonsense\n"},
			`line 3, "nonsense"`},
		"a very long line": {[]string{good, strings.Repeat("x", longestLine+1)},
			"line 2: bufio.Scanner: token too long"},
		"a long line, shortened": {[]string{good, strings.Repeat("x", 1000) + "\n"}, strings.Repeat("x", 200) + `..."`},
	} {
		t.Run(name, func(t *testing.T) {
			messages, err := serve(test.lines...)
			require.ErrorContains(t, err, test.says)
			require.NotEmpty(t, messages)
			require.Equal(t, err.Error(), messages[len(messages)-1].Error)
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWorker_OutputFails_ReturnsError(t *testing.T) {
	err := ServeWorker(strings.NewReader(setupLine(t, nil)+`{"do":"check","serial":1}`+"\n"+`{"do":"exit","serial":2}`+
		"\n"), brokenPipe{})
	require.ErrorContains(t, err, "broken pipe")
}

// parse parses a command as a worker does.
func parse(line []byte) (cmd Command, err error) {
	if err = input.JSONLine(line, &cmd, "command"); err == nil {
		err = cmd.check()
	}
	return cmd, err
}

// FuzzParseCommand requires that no line makes the parser panic, that an accepted command is known, and that its
// encoding parses to the same command.
func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{
		`{"do":"acquire","serial":1,"key":"k1","within":5}`,
		`{"do":"loop","serial":2,"loop":{"keys":["k1"],"hold":1,"think":2}}`,
		`{"do":"clock","serial":3,"clock":{"jump":-5,"rate":1.5}}`,
		`{"do":"exit","serial":4}`, `{`, `null`, `[]`, `{"do":"loop","serial":1,"loop":null}`, `{"do":"x"}{}`,
		`{"name":"c1","lock":"redlock","nodes":["a"],"store":"b","options":{"ttl":1}}`, strings.Repeat(`{"loop":`, 50_000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var cmd Command
		var err error
		inputtest.Bounded(t, len(line), func() {
			_ = input.JSONLine(line, &Setup{}, "setup") // a worker's first line
			cmd, err = parse(line)
		})
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Contains(t, commands, cmd.Do)
		again, err := json.Marshal(cmd)
		require.NoError(t, err)
		reread, err := parse(again)
		require.NoError(t, err)
		require.Equal(t, cmd, reread)
	})
}

func documentation(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/client-protocol.md")
	require.NoError(t, err)
	return string(data)
}

// TestExamplesOfTheDocument parses every line of JSON on the page, and requires an example of each command.
func TestExamplesOfTheDocument(t *testing.T) {
	seen := map[Do]bool{}
	setups, messages := 0, 0
	for line := range strings.Lines(documentation(t)) {
		switch {
		case strings.HasPrefix(line, `{"name":`):
			var s Setup
			require.NoError(t, input.JSONLine([]byte(line), &s, "setup"), line)
			_, err := s.check()
			require.NoError(t, err, line)
			setups++
		case strings.HasPrefix(line, `{"do":`):
			cmd, err := parse([]byte(line))
			require.NoError(t, err, line)
			seen[cmd.Do] = true
		case strings.HasPrefix(line, "{"):
			require.NoError(t, input.JSONLine([]byte(line), &Message{}, "message"), line)
			messages++
		}
	}
	require.Equal(t, 1, setups)
	require.Positive(t, messages)
	for _, do := range commands {
		require.True(t, seen[do], "docs/client-protocol.md has no example of %s", do)
		require.Contains(t, documentation(t), "`"+string(do)+"`")
	}
}

func TestTheDocumentNamesEveryField(t *testing.T) {
	text := documentation(t)
	for _, of := range []reflect.Type{reflect.TypeFor[Setup](), reflect.TypeFor[locks.Options](),
		reflect.TypeFor[Command](),
		reflect.TypeFor[Loop](), reflect.TypeFor[SetClock](), reflect.TypeFor[Message]()} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" { // not in a message
				continue
			}
			require.True(t, strings.Contains(text, "`"+name+"`") || strings.Contains(text, `"`+name+`":`),
				"docs/client-protocol.md lacks the field %s of %s", name, of)
		}
	}
}

func TestTheDocumentNamesEveryBound(t *testing.T) {
	text := documentation(t)
	for _, lack := range locks.Features {
		require.Contains(t, text, "`"+string(lack)+"`")
	}
	require.Contains(t, text, fmt.Sprintf("up to %d printable bytes", maxNameLength))
	require.Contains(t, text, fmt.Sprintf("up to %d messages", maxMessages))
}
