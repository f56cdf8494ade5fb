package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The store's traffic is compared with the version in the outcome of a write.
func TestProtocolChecker_WriteOutcomeWithoutValue_HasThatOfItsInvoke(t *testing.T) {
	now := int64(0)
	c := NewProtocolChecker(Setup{Name: "c1"}, func() int64 { now++; return now })
	parse := func(line string) Message {
		m, err := c.Parse([]byte(line))
		require.NoError(t, err, line)
		return m
	}
	event := func(fields string) Message {
		return parse(fmt.Sprintf(`{"event":{"time":%d,"process":"c1","key":"k1",%s}}`, now, fields))
	}
	parse(`{"lock":{}}`)
	c.OnCommand(Command{Do: DoAcquire, Serial: 1, Key: "k1"})
	event(`"type":"invoke","op":"acquire","id":1`)
	event(`"type":"ok","op":"acquire","id":1,"lease":1,"validity":9`)
	parse(`{"done":1,"outcome":"ok"}`)
	c.OnCommand(Command{Do: DoWrite, Serial: 2})
	event(`"type":"invoke","op":"write","id":2,"lease":1,"value":"c1.1","base":"c2.4"`)
	m := event(`"type":"ok","op":"write","id":2,"lease":1`)
	require.Equal(t, "c1.1", m.Event.Value)
	require.Equal(t, "c2.4", m.Event.Base)
}

// Such a lock extends without a command; no other lock does.
func TestProtocolChecker_ExtendWithoutCommand_OnlyIfTheLockRenews(t *testing.T) {
	for _, renews := range []bool{false, true} {
		now := int64(0)
		c := NewProtocolChecker(Setup{Name: "c1", Renews: renews}, func() int64 { now++; return now })
		_, err := c.Parse([]byte(`{"lock":{}}`))
		require.NoError(t, err)
		c.OnCommand(Command{Do: DoAcquire, Serial: 1, Key: "k1"})
		for i, fields := range []string{`"type":"invoke","op":"acquire","id":1`,
			`"type":"ok","op":"acquire","id":1,"lease":1,"validity":9`,
			`"type":"invoke","op":"extend","id":2,"lease":1`} {
			_, err = c.Parse(fmt.Appendf(nil, `{"event":{"time":%d,"process":"c1","key":"k1",%s}}`, now, fields))
			require.Equal(t, i < 2 || renews, err == nil, "%s: %v", fields, err)
		}
	}
}
