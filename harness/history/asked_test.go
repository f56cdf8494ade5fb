package history

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A fault of another release, or of somebody else's harness, may have been asked for what we do not know.
func TestAsked_ReadsWhatItKnows(t *testing.T) {
	line := `{"time":2,"process":"nemesis","type":"fault","fault":{"id":1,"kind":"storm","class":"link-cut",` +
		`"phase":"begin","targets":["c1-n1"],"asked":{"by":"40ms","rate":"0.8","times":"2","wind":"strong"},` +
		`"effective":true}}`
	events, err := Read(strings.NewReader(headerLine + line + "\n"))
	require.NoError(t, err)
	require.Equal(t, Asked{By: Duration(40 * time.Millisecond), Rate: 0.8, Times: 2}, events[1].Fault.Asked)
}
