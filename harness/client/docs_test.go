package client

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/locks"
)

func documentation(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/client-protocol.md")
	require.NoError(t, err)
	return string(data)
}

// TestExamplesOfTheDocument parses every line of JSON on the page, and requires
// an example of each command.
func TestExamplesOfTheDocument(t *testing.T) {
	seen := map[Do]bool{}
	setups, messages := 0, 0
	for line := range strings.Lines(documentation(t)) {
		switch {
		case strings.HasPrefix(line, `{"name":`):
			_, err := parseSetup([]byte(line))
			require.NoError(t, err, line)
			setups++
		case strings.HasPrefix(line, `{"do":`):
			cmd, err := parseCommand([]byte(line))
			require.NoError(t, err, line)
			seen[cmd.Do] = true
		case strings.HasPrefix(line, "{"):
			require.NoError(t, strict([]byte(line), &Message{}), line)
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
	for _, of := range []reflect.Type{reflect.TypeFor[Setup](), reflect.TypeFor[locks.Options](), reflect.TypeFor[Command](),
		reflect.TypeFor[Loop](), reflect.TypeFor[SetClock](), reflect.TypeFor[Message]()} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
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
