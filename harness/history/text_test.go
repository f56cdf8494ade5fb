package history

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestText_BytesThatAreNotUTF8StayDistinct(t *testing.T) {
	require.Equal(t, "token", asText("token"))
	require.Equal(t, "bytes:ff01", asText("\xff\x01"))
	require.NotEqual(t, asText("\xff"), asText("\xfe"))
	require.Equal(t, asText("\xff"), asText(asText("\xff")), "a worker and the journal may both make it text")
}

func TestMakeText_EventEqualsTheOneReadBack(t *testing.T) {
	shared := &Command{Serial: 1, Name: "SET", Key: "k1", Token: "\xff\x01", Effect: EffectSet, Reply: "\xfe"}
	events := []Event{
		{Process: "c1", Type: TypeOK, Op: OpAcquire, Key: "k\xff", Token: "\xff\x01"},
		{Process: "c1>n1", Type: TypeReply, Key: "k1", Command: shared},
		{Process: "n1", Type: TypeNode, Node: &Node{Up: true, Keys: map[string]KeyState{"k1": {Token: "\xff\x01", TTL: 1}}}},
	}
	for _, e := range events {
		e.MakeText()
		line, err := lineOf(&e)
		require.NoError(t, err)
		require.False(t, bytes.Contains(line, []byte("\\ufffd")) || bytes.Contains(line, []byte("\xef\xbf\xbd")), "%s", line)
		require.Contains(t, string(line), "bytes:ff")
	}
	require.Equal(t, "\xff\x01", shared.Token, "the link's own command stays as it was")
}

// A fault of another release or harness may have unknown parameters.
func TestAsked_UnknownNames_AreIgnored(t *testing.T) {
	line := `{"time":2,"process":"nemesis","type":"fault","fault":{"id":1,"kind":"storm","class":"link-cut",` +
		`"phase":"begin","targets":["c1-n1"],"asked":{"by":"40ms","rate":"0.8","times":"2","wind":"strong"},` +
		`"effective":true}}`
	events, err := Read(strings.NewReader(headerLine + line + "\n"))
	require.NoError(t, err)
	require.Equal(t, Asked{By: Duration(40 * time.Millisecond), Rate: 0.8, Times: 2}, events[1].Fault.Asked)
}

func documentation(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/history.md")
	require.NoError(t, err)
	return string(data)
}

func TestExamplesOfTheDocumentAreEventsOfEveryType(t *testing.T) {
	seen := map[Type]bool{}
	for line := range strings.Lines(documentation(t)) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		e, err := parseLine([]byte(line))
		require.NoError(t, err, line)
		seen[e.Type] = true
	}
	for _, want := range types {
		require.True(t, seen[want], "docs/history.md has no example of a %s event", want)
	}
}

func TestTheDocumentNamesEveryField(t *testing.T) {
	text := documentation(t)
	for _, of := range []reflect.Type{
		reflect.TypeFor[Event](), reflect.TypeFor[Command](), reflect.TypeFor[Fault](), reflect.TypeFor[Node](),
		reflect.TypeFor[KeyState](), reflect.TypeFor[Clock](), reflect.TypeFor[Header](), reflect.TypeFor[Bounds](),
		reflect.TypeFor[Earned](), reflect.TypeFor[Replication](),
	} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			require.True(t, strings.Contains(text, "`"+name+"`"), "docs/history.md lacks the field %s of %s", name, of)
		}
	}
}

func TestBounds_EveryField_HasItsNameInScenarios(t *testing.T) {
	var b Bounds
	for f := range reflect.TypeFor[Bounds]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.True(t, slices.Contains(BoundNames, name), "BoundNames lacks %s", name)
		require.Same(t, reflect.ValueOf(&b).Elem().FieldByName(f.Name).Addr().Interface(), b.Find(name), name)
	}
}

func TestTheDocumentNamesEveryClass(t *testing.T) {
	text := documentation(t)
	for _, class := range Classes {
		require.True(t, strings.Contains(text, "`"+string(class)+"`"), "docs/history.md lacks the class %s", class)
	}
}
