package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"n1 → n2, 5 µs; naïve 日本 👩‍🔬": "n1 → n2, 5 µs; naïve 日本 👩‍🔬",
		"two\n\tlines":           "two\n\tlines",
		"\x1b[31mred\x1b[m":      `\u001b[31mred\u001b[m`,
		"\x1b]0;title\a":         `\u001b]0;title\u0007`,
		"over\rwritten\b":        `over\u000dwritten\u0008`,
		"a\u202eb\u2066c\u200f":  `a\u202eb\u2066c\u200f`,
		"\u009b31m \x7f":         `\u009b31m \u007f`,
		"\xff\xc3":               `\xff\xc3`,
		"\u2028\ufeff\U000e0041": `\u2028\ufeff\udb40\udc41`,
	} {
		require.Equal(t, want, Text(text))
		require.Equal(t, want, Text(Text(text)))
	}
	require.Equal(t, "\x1b[1;31mred\x1b[m \\u001b[8mhidden\x1b[0m", Styled("\x1b[1;31mred\x1b[m \x1b[8mhidden\x1b[0m"))
}

// Any division into writes gives the same output as Text.
func TestWriter_AnyDivision_SameOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "👩", "\x1b[31m", "\x1b[1;31m", "\x1b[8m", "\x1b[",
			"\xff", "\u202e", "\n", "\x1b"})).Draw(t, "text")
		text := strings.Join(parts, "") + "end"
		styled := rapid.Bool().Draw(t, "styled")
		var got strings.Builder
		w := NewWriter(&got, styled)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			written, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, written)
			rest = rest[n:]
		}
		if styled {
			require.Equal(t, Styled(text), got.String())
		} else {
			require.Equal(t, Text(text), got.String())
			require.NotContains(t, got.String(), "\x1b")
		}
	})
}

func TestText_OfJSON_KeepsItsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		data, err := json.Marshal(text)
		require.NoError(t, err)
		var got string
		require.NoError(t, json.Unmarshal([]byte(Text(string(data))), &got))
		require.Equal(t, text, got)
		require.True(t, utf8.ValidString(Text(text)))
	})
}
