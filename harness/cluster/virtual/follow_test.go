package virtual_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
)

// modelled carries out deeds on a virtual pair, and gives the last reply.
func modelled(t *testing.T, lines map[string]string, deeds ...deed) (last string, took time.Duration) {
	t.Helper()
	inBubble(t, func() {
		c, err := virtual.New(cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Replicas: map[string]string{"r1": "n1"},
			Settings: lines, Seed: 1, Record: func(history.Event) {}})
		require.NoError(t, err)
		p := pair{c, func(name string) *redis.Client { return connect(c, "c1", name) }}
		for _, d := range deeds {
			began := c.Now()
			last, err = d.do(p)
			require.NoError(t, err, d.what)
			took = time.Duration(c.Now() - began)
		}
		require.NoError(t, c.Close())
	})
	return last, took
}

func TestWaitAnswersWhenItKnows(t *testing.T) {
	set := []any{"SET", "a", "1"}
	reply, took := modelled(t, nil, say("n1", set, []any{"WAIT", 1, 5000}))
	require.Equal(t, "OK; 1", reply)
	require.Less(t, took, 50*time.Millisecond, "it asks for the replica's word at once")
	reply, took = modelled(t, nil, cut, say("n1", set, []any{"WAIT", 1, 700}))
	require.Equal(t, "OK; 0", reply)
	require.InDelta(t, 700*time.Millisecond, took, float64(20*time.Millisecond))
	reply, _ = modelled(t, nil, say("n1", set, []any{"WAIT", 2, 300}))
	require.Equal(t, "OK; 1", reply, "it tells how many there are")
	reply, _ = modelled(t, nil, say("n1", []any{"WAIT", 1}, []any{"WAIT", "x", 1}, []any{"WAIT", 1, "x"}, []any{"WAIT", 1, -1}))
	require.Equal(t, "ERR wrong number of arguments for 'wait' command; ERR value is not an integer or out of range; "+
		"ERR timeout is not an integer or out of range; ERR timeout is negative", reply)
}

// A master that stands still answers no WAIT and no WAITAOF, also when their time is up; it does when it runs on.
func TestAMasterThatIsPausedLetsAWaitWait(t *testing.T) {
	for want, command := range map[string][]any{"0": {"WAIT", 1, 1000}, "[1 0]": {"WAITAOF", 1, 1, 1000}} {
		inBubble(t, func() {
			c := newer(t, cluster.PersistAlways)
			require.NoError(t, c.Link("r1", "n1").Cut(cluster.Both))
			answered := make(chan string)
			go func() {
				rdb := connect(c, "c1", "n1")
				conn := rdb.Conn()
				conn.Set(ctx, "a", "1", 0)
				answered <- fmt.Sprint(conn.Do(ctx, command...).Val())
				conn.Close()
				rdb.Close()
			}()
			time.Sleep(500 * time.Millisecond)
			require.NoError(t, c.Node("n1").Pause(ctx))
			time.Sleep(2 * time.Second)
			select {
			case <-answered:
				t.Error("a node that is paused has answered")
			default:
			}
			require.NoError(t, c.Node("n1").Resume(ctx))
			require.Equal(t, want, <-answered)
			require.NoError(t, c.Close())
		})
	}
}

// A link that is cut for longer than repl-timeout is given up on both sides; what the
// replica has missed it is told when it comes back.
func TestALinkThatIsSilentIsGivenUp(t *testing.T) {
	linked := deed{"linked", func(p pair) (string, error) {
		seen, err := p.Node("r1").Look(ctx)
		return fmt.Sprint(seen.Replication.Linked), err
	}}
	reply, _ := modelled(t, nil, cut, wait(50*time.Second), linked)
	require.Equal(t, "true", reply, "nobody has noticed yet")
	reply, _ = modelled(t, nil, cut, wait(90*time.Second), linked)
	require.Equal(t, "false", reply)
	reply, _ = modelled(t, nil, cut, say("n1", []any{"SET", "a", "1"}), wait(90*time.Second), heal, settle, say("r1", []any{"GET", "a"}))
	require.Equal(t, "1", reply)
}

// A server that is shut down waits until its replicas have what it wrote, and no longer
// than Redis does.
func TestAMasterThatShutsDownWaitsForItsReplicas(t *testing.T) {
	set := say("n1", []any{"SET", "a", "1"})
	_, took := modelled(t, nil, cut, set, shutdown("n1"))
	require.InDelta(t, 10*time.Second, took, float64(20*time.Millisecond))
	_, took = modelled(t, nil, set, shutdown("n1"))
	require.Less(t, took, 3*time.Second)
	reply, _ := modelled(t, nil, set, shutdown("n1"), promote, say("r1", []any{"GET", "a"}, []any{"SET", "b", "2"}))
	require.Equal(t, "1; OK", reply)
}
