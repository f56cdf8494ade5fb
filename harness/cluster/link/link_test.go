package link

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// rig is one link between a real go-redis client and a miniredis, in a bubble.
type rig struct {
	scheduler *scheduler.Scheduler
	link      *Link
	redis     *redis.Client
	start     time.Time
	events    clustertest.Events
}

func (r *rig) now() int64 { return int64(time.Since(r.start)) }

// inBubble runs f with a link over toxiproxy, and with a direct link.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	for name, direct := range map[string]bool{"toxiproxy": false, "direct": true} {
		t.Run(name, func(t *testing.T) { bubbleWith(t, direct, f) })
	}
}

func bubbleWith(t *testing.T, direct bool, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		_, err := m.Dial() // starts the server
		require.NoError(t, err)
		r := &rig{start: time.Now(), scheduler: scheduler.New()}
		defer r.scheduler.End()
		var in *scheduler.Scheduler
		if direct {
			in = r.scheduler
		}
		r.link = New(Config{Client: "c1", Node: "n1", Now: r.now, Record: r.events.Record,
			Travel: func(bool, int, int) time.Duration { return time.Millisecond }, Direct: in})
		r.redis = clustertest.Client(&redis.Options{
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				client, inner := Pipe(r.scheduler, scheduler.Key{})
				outer, server := Pipe(r.scheduler, scheduler.Key{})
				r.link.Join(inner, outer)
				m.Server().ServeConn(server)
				return client, nil
			},
			ReadTimeout: time.Minute,
		})
		f(t, r)
		require.NoError(t, r.redis.Close())
		require.NoError(t, r.link.Close())
		m.Close()
	})
}

// piped runs a test with the client's and the server's end of one connection over a direct link, in a bubble.
func piped(t *testing.T, record func(history.Event), test func(t *testing.T, l *Link, client, server net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		moves := scheduler.New()
		defer moves.End()
		l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 }, Direct: moves, Record: record})
		client, near := Pipe(moves, scheduler.Key{})
		far, server := Pipe(moves, scheduler.Key{})
		l.Join(near, far)
		test(t, l, client, server)
		require.NoError(t, l.Close())
	})
}

func TestLink_RecordsCommandsAndReplies(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.SetNX(ctx, "k1", "mine", time.Second).Err())
		del := redis.NewScript(compareAndDelete)
		require.NoError(t, del.Run(ctx, r.redis, []string{"k1"}, "mine").Err())
		require.NoError(t, del.Run(ctx, r.redis, []string{"k1"}, "mine").Err())

		var got []string
		for _, e := range r.events.All() {
			require.Equal(t, "c1>n1", e.Process)
			require.Equal(t, "k1", e.Command.Key)
			require.Equal(t, "mine", e.Command.Token)
			done := ""
			if e.Command.Done {
				done = " done"
			}
			got = append(got, string(e.Type)+" "+e.Command.Name+" "+string(e.Command.Effect)+" "+e.Command.Reply+done)
		}
		require.Equal(t, []string{
			"command SET set ", "reply SET set OK done",
			// No link has seen the text of the first EVALSHA's script: its effect is unknown.
			"command EVALSHA  ", "reply EVALSHA  error: NOSCRIPT No matching script. Please use EVAL.",
			"command EVAL delete ", "reply EVAL delete 1 done",
			"command EVALSHA delete ", "reply EVALSHA delete 0",
		}, got)
	})
}

// Only an unconditional effect is certain then.
func TestLink_ScriptReplyAlwaysEqual_EffectUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for body, want := range map[string]history.Effect{
			`if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return 1`: "",
			`redis.call('set', KEYS[1], ARGV[1], 'NX') return 1`:                                    "",
			`redis.call('hsetnx', KEYS[1], ARGV[1], 1) return 'x'`:                                  "",
			`redis.call('del', KEYS[1]) return 1`:                                                   history.EffectDelete,
		} {
			require.NoError(t, r.redis.Del(context.Background(), "k1").Err())
			require.NoError(t, r.redis.Eval(context.Background(), body, []string{"k1"}, "mine").Err())
			all := r.events.All()
			c := all[len(all)-1].Command
			require.Equal(t, want, c.Effect, body)
			require.Equal(t, want != "", c.Done, body)
			require.Equal(t, want == "", c.MayChange(), body)
			require.Equal(t, "k1", c.Key)
		}
	})
}

func TestHeal_OnceForEachCut_ElseFails(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.redis.Ping(context.Background()).Err())
		require.NoError(t, r.link.Cut(history.ToClient))
		require.NoError(t, r.link.Cut(history.Both))
		began := time.Now()
		go func() {
			r.link.Heal(history.Both)
			time.Sleep(time.Second)
			r.link.Heal(history.ToClient)
		}()
		require.NoError(t, r.redis.Ping(context.Background()).Err())
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.ErrorContains(t, r.link.Heal(history.Both), "link c1>n1 is not cut")
	})
}

// TCP keeps bytes in order.
func TestHold_LaterMessagesOfTheConnection_Wait(t *testing.T) {
	for _, part := range []history.Part{history.PartCommand, history.PartReply} {
		inBubble(t, func(t *testing.T, r *rig) {
			ctx := context.Background()
			_, err := r.link.Intercept(cluster.Intercept{Command: "SET", Part: part, Action: cluster.Hold, Times: 1})
			require.NoError(t, err)
			answered := make(chan []redis.Cmder)
			go func() {
				cmds, _ := r.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
					p.Set(ctx, "k1", "first", 0)
					p.Append(ctx, "k1", " second")
					p.Append(ctx, "k1", " third")
					return nil
				})
				answered <- cmds
			}()
			time.Sleep(100 * time.Millisecond)
			select {
			case <-answered:
				t.Fatal("it was answered past a held message")
			default:
			}
			if part == history.PartCommand {
				require.ErrorIs(t, r.redis.Get(ctx, "k1").Err(), redis.Nil, "no command has reached the node")
			}
			_, err = r.link.LetGo()
			require.NoError(t, err)
			cmds := <-answered
			require.Equal(t, "OK", cmds[0].(*redis.StatusCmd).Val())
			require.EqualValues(t, len("first second"), cmds[1].(*redis.IntCmd).Val())
			require.Equal(t, "first second third", r.redis.Get(ctx, "k1").Val())
		})
	}
}

// The intercept matched when the command was sent, but no later LetGo would release the reply.
func TestLetGo_ReplyStillPending_IsNotAffected(t *testing.T) {
	for _, action := range []cluster.Action{cluster.Hold, cluster.Lose, cluster.Drop} {
		inBubble(t, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			require.NoError(t, r.redis.Ping(ctx).Err())
			met, err := r.link.Intercept(cluster.Intercept{Command: "SET", Part: history.PartReply, Action: action})
			require.NoError(t, err)
			set := make(chan error)
			go func() { set <- r.redis.Set(ctx, "k1", "x", time.Minute).Err() }()
			time.Sleep(time.Millisecond / 2) // the command is on its way
			held, err := r.link.LetGo()
			require.NoError(t, err)
			require.Zero(t, held)
			require.NoError(t, <-set, action)
			require.Zero(t, met().Messages)
		})
	}
}

func TestClose_UnderEveryFault_Ends(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.NoError(t, r.redis.Ping(ctx).Err())
		require.NoError(t, r.link.Cut(history.Both))
		require.NoError(t, r.link.Delay(history.Both, time.Second))
		_, err := r.link.Intercept(cluster.Intercept{Command: "SET", Part: history.PartReply, Action: cluster.Hold})
		require.NoError(t, err)
		go r.redis.SetNX(ctx, "k1", "x", time.Minute)
		time.Sleep(time.Millisecond)
		require.NoError(t, r.link.Close())
		client, inner := Pipe(r.scheduler, scheduler.Key{})
		outer, _ := Pipe(r.scheduler, scheduler.Key{})
		r.link.Join(inner, outer)
		_, err = client.Read(make([]byte, 1))
		require.Error(t, err, "a closed link joins nothing")
	})
}

// overTCP listens for one connection and joins it over a link to a server. It returns its address.
func overTCP(t *testing.T, l *Link, upstream string) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		client, err := ln.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", upstream)
		if err != nil {
			client.Close()
			return
		}
		l.Join(client, server)
	}()
	return ln.Addr().String()
}

// A killed client does not read the pending reply, but the link records it.
func TestLink_ClientClosesBeforeReply_ReplyIsRecorded(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := server.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn) // until the client has closed
		}
		if err == nil {
			_, err = conn.Write([]byte("+OK\r\n"))
		}
		if err == nil {
			err = conn.Close()
		}
		served <- err
	}()
	events := make(chan history.Event, 2)
	l := New(Config{Client: "c1", Node: "n1", Now: func() int64 { return 0 },
		Record: func(e history.Event) { events <- e }})
	client, err := net.Dial("tcp", overTCP(t, l, server.Addr().String()))
	require.NoError(t, err)
	_, err = client.Write(resp("SET", "a", "b"))
	require.NoError(t, err)
	require.Equal(t, history.TypeCommand, (<-events).Type)
	require.NoError(t, client.Close())
	require.NoError(t, <-served)
	l.mu.Lock()
	for len(l.open) > 0 {
		l.idle.Wait()
	}
	l.mu.Unlock()
	require.NoError(t, l.Close())
	require.Len(t, events, 1)
	require.True(t, (<-events).Command.Done)
}

var (
	takes = redis.NewScript(`if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
		return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`)
	extends = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ` +
		`ARGV[2]) end return 0`)
	releases = redis.NewScript(compareAndDelete)
)

// runScripts acquires, extends and releases the key with scripts: EVALSHA first, and EVAL after NOSCRIPT.
func runScripts(ctx context.Context, db *redis.Client) (all []error) {
	key := []string{"k"}
	return []error{takes.Run(ctx, db, key, "a", "900").Err(), extends.Run(ctx, db, key, "a", "900").Err(),
		releases.Run(ctx, db, key, "a").Err()}
}

// The three commands have the same name.
func TestIntercept_ByEffect_AffectsOnlyThatCommand(t *testing.T) {
	for i, effect := range []string{history.Take, history.Extend, history.Release} {
		for _, part := range []history.Part{history.PartCommand, history.PartReply} {
			for _, known := range []bool{false, true} {
				inBubble(t, func(t *testing.T, r *rig) {
					if known { // then each is one EVALSHA
						require.Equal(t, []error{nil, nil, nil}, runScripts(context.Background(), r.redis))
					}
					met, err := r.link.Intercept(cluster.Intercept{Command: effect, Part: part, Action: cluster.Drop})
					require.NoError(t, err)
					before, _ := r.link.Count(effect)
					failed := runScripts(context.Background(), r.redis)
					for n := range failed {
						require.Equal(t, n == i, failed[n] != nil, "%s %s, known: %v: %v", effect, part, known, failed)
					}
					require.Equal(t, 1, met().Messages)
					received, answered := r.link.Count(effect)
					want := map[history.Part]int{history.PartCommand: 0, history.PartReply: 1}[part]
					require.Equal(t, []int{before + want, before + want}, []int{received, answered})
				})
			}
		}
	}
}

func TestIntercept_HeldEvalshaGetsNoscript_DoesNotCount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.Equal(t, []error{nil, nil, nil}, runScripts(ctx, r.redis))
		r.link.cfg.Scripts.Answered("n2", releases.Hash(), true)
		other := clustertest.Client(&redis.Options{Dialer: r.redis.Options().Dialer})
		require.NoError(t, takes.Run(ctx, r.redis, []string{"k"}, "a", "900").Err())
		require.NoError(t, other.ScriptFlush(ctx).Err())
		require.False(t, r.link.cfg.Scripts.Knows("n1", releases.Hash()))
		require.True(t, r.link.cfg.Scripts.Knows("n2", releases.Hash()), "another node still has it")
		r.link.cfg.Scripts.Answered("n1", releases.Hash(), true) // as after an unnoticed restart

		met, err := r.link.Intercept(cluster.Intercept{Command: history.Release, Part: history.PartCommand,
			Action: cluster.Hold, Times: 1})
		require.NoError(t, err)
		done := make(chan error)
		go func() { done <- releases.EvalSha(ctx, r.redis, []string{"k"}, "a").Err() }()
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, 1, met().Messages)
		_, err = r.link.LetGo()
		require.NoError(t, err)
		require.ErrorContains(t, <-done, "NOSCRIPT")
		require.Zero(t, met().Messages, "it is taken back")
		received, answered := r.link.Count(history.Release)
		require.Equal(t, received, answered)
		require.NoError(t, other.Close())
	})
}

// The node may restart without its scripts.
func TestLink_NodeClosesConnection_ForgetsItsScripts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		require.Equal(t, []error{nil, nil, nil}, runScripts(ctx, r.redis))
		knows := func() bool { return r.link.cfg.Scripts.Knows("n1", releases.Hash()) }
		require.True(t, knows())
		conn, server := Pipe(r.scheduler, scheduler.Key{})
		near, far := Pipe(r.scheduler, scheduler.Key{})
		r.link.Join(conn, far)
		require.NoError(t, server.Close())
		time.Sleep(10 * time.Millisecond)
		require.True(t, knows(), "a client that leaves says nothing of the node")
		require.NoError(t, near.Close())

		client, inner := Pipe(r.scheduler, scheduler.Key{})
		outer, gone := Pipe(r.scheduler, scheduler.Key{})
		r.link.Join(inner, outer)
		require.NoError(t, gone.Close())
		time.Sleep(10 * time.Millisecond)
		require.False(t, knows())
		require.NoError(t, client.Close())
	})
}
