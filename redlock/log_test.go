package redlock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
)

// log keeps records.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// messages gives the records' messages in order, without repeats, and their attributes.
func (l *log) messages(t *testing.T) (messages []string, attrs []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for decoder := json.NewDecoder(bytes.NewReader(l.text.Bytes())); decoder.More(); {
		var record map[string]any
		require.NoError(t, decoder.Decode(&record))
		require.Equal(t, "WARN", record["level"])
		message := record["msg"].(string)
		if len(messages) == 0 || messages[len(messages)-1] != message {
			messages, attrs = append(messages, message), append(attrs, record)
		}
	}
	return messages, attrs
}

func (l *log) option() Option { return WithLogger(slog.New(slog.NewJSONHandler(l, nil))) }

func TestWhatIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		opts []Option
		do   func(*testing.T, *user)
		want []string
	}{
		"a day like any other": {nil, func(t *testing.T, u *user) {
			l := u.must(t)
			work := l.Watch(t.Context())
			time.Sleep(3 * ttl)
			require.NoError(t, work.Err())
			require.NoError(t, l.Release(t.Context()))
			_, err := u.TryAcquire(t.Context(), key, ttl)
			require.NoError(t, err)
			_, err = u.TryAcquire(t.Context(), key, ttl)
			require.ErrorIs(t, err, ErrHeld, "callers see that themselves")
		}, nil},
		"a margin near the TTL": {[]Option{WithDrift(0.6)}, func(t *testing.T, u *user) { u.must(t) },
			[]string{"redlock: less than half of the TTL is left to work in"}},
		"slow nodes": {[]Option{WithNodeTimeout(time.Minute)}, func(t *testing.T, u *user) {
			u.warmUp(t)
			u.each(func(l *link) { l.onReply(slow("set", 6*ttl/10)) })
			u.must(t)
		}, []string{"redlock: less than half of the TTL is left to work in"}},
		"an extension in the last moment": {nil, func(t *testing.T, u *user) {
			l := u.must(t)
			time.Sleep(l.Validity() - ttl/20)
			require.NoError(t, l.Extend(t.Context()))
		}, []string{"redlock: an extension has nearly come too late"}},
		"an extension that is tried again": {nil, func(t *testing.T, u *user) {
			l := u.must(t)
			u.each((*link).cut, 1, 2, 3)
			work := l.Watch(t.Context())
			time.Sleep(ttl / 2)
			u.each(func(l *link) { l.onCommand(nil) })
			time.Sleep(ttl)
			require.NoError(t, work.Err())
			require.NoError(t, l.Release(t.Context()))
		}, []string{"redlock: an extension has failed, and is tried again"}},
		"no extension comes through": {nil, func(t *testing.T, u *user) {
			l := u.must(t)
			u.each((*link).cut)
			<-l.Watch(t.Context()).Done()
		}, []string{"redlock: an extension has failed, and is tried again", "redlock: a watched lease ends, and is not released"}},
		"its keys are gone": {nil, func(t *testing.T, u *user) {
			l := u.must(t)
			for _, link := range u.links {
				link.server.FlushAll()
			}
			<-l.Watch(t.Context()).Done()
		}, []string{"redlock: a watched lease is lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, cl *cluster) {
				var kept log
				u := cl.user(1, append(c.opts, kept.option())...)
				c.do(t, u)
				synctest.Wait()
				got, attrs := kept.messages(t)
				require.Equal(t, c.want, got)
				for _, record := range attrs {
					require.Equal(t, key, record["key"])
					require.EqualValues(t, ttl, record["ttl"])
				}
			})
		})
	}
}

// Of two nodes that are one server everybody is told, and the log once.
func TestADuplicateNodeIsLoggedOnce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		var kept log
		u := c.userOn(1, []*miniredis.Miniredis{c.servers[0], c.servers[0]}, kept.option())
		for range 3 {
			_, err := u.Acquire(t.Context(), key, ttl)
			require.ErrorIs(t, err, ErrDuplicateNode)
		}
		synctest.Wait()
		got, attrs := kept.messages(t)
		require.Equal(t, []string{"redlock: the list of nodes is wrong, and the lock refuses all work"}, got)
		require.Contains(t, fmt.Sprint(attrs[0]["error"]), "n1:6379")
	})
}

func TestNoLogger(t *testing.T) {
	var o options
	require.ErrorContains(t, WithLogger(nil)(&o), "leave the option out")
	(&Redlock{}).warn(context.Background(), "nobody hears that")
}

// Half of the TTL is enough to work in, and a tenth of it in time.
func TestTheLeastThatIsNotWarnedOf(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		var kept log
		u := c.user(1, kept.option())
		l := u.must(t)
		u.warnIfClose(t.Context(), l, ttl/10)
		time.Sleep(l.Validity() - ttl/2)
		u.warnIfNarrow(t.Context(), l)
		got, _ := kept.messages(t)
		require.Empty(t, got)

		time.Sleep(time.Nanosecond)
		u.warnIfNarrow(t.Context(), l)
		u.warnIfClose(t.Context(), l, ttl/10-1)
		got, _ = kept.messages(t)
		require.Equal(t, []string{"redlock: less than half of the TTL is left to work in",
			"redlock: an extension has nearly come too late"}, got)
	})
}
