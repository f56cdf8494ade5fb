package history

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

func TestTheDocumentNamesEveryClass(t *testing.T) {
	text := documentation(t)
	for _, class := range Classes {
		require.True(t, strings.Contains(text, "`"+string(class)+"`"), "docs/history.md lacks the class %s", class)
	}
}
