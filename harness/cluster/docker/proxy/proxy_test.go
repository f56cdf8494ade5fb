package proxy

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/history"
)

// site is a proxy with two servers and a store, and its client.
type site struct {
	*Client
	servers map[string]*miniredis.Miniredis
	ports   map[history.Link]int
}

// begin starts a proxy and a run on it; change may edit the run.
func begin(t *testing.T, change func(*network.Run)) *site {
	t.Helper()
	s := &site{servers: map[string]*miniredis.Miniredis{}}
	want := network.Run{Epoch: realtime.Monotonic(), Servers: map[string]string{}}
	for _, name := range []string{"n1", "n2", history.StoreName} {
		s.servers[name] = miniredis.RunT(t)
		want.Servers[name] = s.servers[name].Addr()
		want.Links = append(want.Links, history.Link{From: "c1", To: name}, history.Link{From: "c2", To: name})
	}
	if change != nil {
		change(&want)
	}
	volumes := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(volumes, "n1"), 0o755))
	server, err := NewServer(volumes)
	require.NoError(t, err)
	api := httptest.NewServer(server.Handler())
	s.Client = NewClient(strings.TrimPrefix(api.URL, "http://"))
	t.Cleanup(func() {
		_, err := End.Send(context.Background(), s.Client, none{})
		require.NoError(t, err)
		require.NoError(t, s.Failed())
		s.Close()
		api.Close()
	})
	s.run(t, want)
	return s
}

func (s *site) run(t *testing.T, want network.Run) {
	t.Helper()
	listening, err := Begin.Send(t.Context(), s.Client, want)
	require.NoError(t, err)
	require.Len(t, listening, want.Ports())
	s.ports = map[history.Link]int{}
	for _, l := range listening {
		s.ports[l.Link] = l.Port
	}
}

// dial is a go-redis client over a link.
func (s *site) dial(t *testing.T, client, server string) *redis.Client {
	t.Helper()
	return clustertest.Dial(t, net.JoinHostPort("127.0.0.1",
		strconv.Itoa(s.ports[history.Link{From: client, To: server}])), "")
}

func TestEveryLinkLeadsToItsServer(t *testing.T) {
	s := begin(t, nil)
	for p := range s.ports {
		require.NoError(t, s.dial(t, p.From, p.To).Set(t.Context(), p.From, p.To, 0).Err())
	}
	for name, server := range s.servers {
		for _, client := range []string{"c1", "c2"} {
			got, err := server.Get(client)
			require.NoError(t, err)
			require.Equal(t, name, got)
		}
	}
	received, answered := s.Link(history.Link{From: "c1", To: "n2"}).Count("SET")
	require.Equal(t, []int{1, 1}, []int{received, answered})
}

func TestEvents_CommandsOnLinks_AreReturned(t *testing.T) {
	s := begin(t, nil)
	before := realtime.Monotonic()
	require.NoError(t, s.dial(t, "c1", "n1").Set(t.Context(), "k1", "token", time.Minute).Err())
	require.NoError(t, s.dial(t, "c1", history.StoreName).Set(t.Context(), "k1", "no register", 0).Err())
	events, err := Events.Send(t.Context(), s.Client, 0)
	require.NoError(t, err)
	require.Len(t, events, 2, "a command and its reply; at the store only registers count")
	require.Equal(t, []history.Type{history.TypeCommand, history.TypeReply}, []history.Type{events[0].Type,
		events[1].Type})
	require.Equal(t, "c1>n1", events[0].Process)
	require.Equal(t, "token", events[0].Command.Token)
	require.Positive(t, events[0].Time)
	require.Less(t, events[1].Time, realtime.Monotonic()-before+int64(time.Minute))
	_, err = End.Send(t.Context(), s.Client, none{})
	require.NoError(t, err)
	events, err = Events.Send(t.Context(), s.Client, 1)
	require.NoError(t, err)
	require.Len(t, events, 1, "of a run that has ended")
	_, err = Events.Send(t.Context(), s.Client, 9)
	require.ErrorContains(t, err, "the run has had 2 events, and not 9")
}

func TestBegin_RunWithDelay_DelaysEveryLink(t *testing.T) {
	const oneWay = 15 * time.Millisecond
	s := begin(t, func(r *network.Run) { r.Delay = oneWay })
	db := s.dial(t, "c2", "n2")
	require.NoError(t, db.Ping(t.Context()).Err())
	began := time.Now()
	require.NoError(t, db.Ping(t.Context()).Err())
	require.GreaterOrEqual(t, time.Since(began), 2*oneWay)
}

func TestBegin_EndsTheRunBefore(t *testing.T) {
	s := begin(t, nil)
	db := s.dial(t, "c1", "n1")
	require.NoError(t, db.Ping(t.Context()).Err())
	require.NoError(t, s.Link(history.Link{From: "c1", To: "n1"}).Cut(history.Both),
		"a fault in effect must not keep a run alive")
	s.run(t, network.Run{Links: []history.Link{{From: "c9", To: "n1"}},
		Servers: map[string]string{"n1": s.servers["n1"].Addr()}})
	require.ErrorContains(t, s.Link(history.Link{From: "c1", To: "n1"}).Cut(history.Both),
		`there is no link from "c1" to "n1" in this run`)
}

func only[T any](_ T, err error) error { return err }

func TestCalls_Invalid_AreRefused(t *testing.T) {
	s := begin(t, nil)
	l := s.Link(history.Link{From: "c1", To: "n1"}).(*remote)
	for _, c := range []struct {
		what string
		do   func() error
		want string
	}{
		{"too many links", func() error {
			_, err := Begin.Send(t.Context(), s.Client, network.Run{Links: make([]history.Link, 3001)})
			return err
		}, "the links of a run need 3001 ports: 3000 are the most"},
		{"no run", func() error { return l.Cut(history.Both) }, "there is no run: POST /run begins one"},
		{"no volume", func() error { return only(Renew.Send(t.Context(), s.Client, Machine{Server: "n7"})) },
			"the volume of n7 is not mounted at"},
		{"no name", func() error { return only(Renew.Send(t.Context(), s.Client, Machine{Server: "../n1"})) },
			`"../n1" is no server's name`},
		{"no machine", func() error { return only(CutPower.Send(t.Context(), s.Client, "n7")) },
			`there is no machine of "n7"`},
		{"no rate", func() error { return only(SetClock.Send(t.Context(), s.Client, ClockChange{Server: "n1", Rate: -1})) },
			"a clock cannot run at rate -1"},
		{"no such endpoint", func() error { return only(Call[none, none]("/nothing").Send(t.Context(), s.Client, none{})) },
			"404 page not found"},
	} {
		require.ErrorContains(t, c.do(), c.want, c.what)
	}
	_, answered := l.Count("SET")
	require.Zero(t, answered)
	require.ErrorContains(t, s.Failed(), "there is no run", "what Count could not return")
	require.NoError(t, s.Failed(), "it is told once")
}

func TestClient_ProxyGone_Fails(t *testing.T) {
	api := httptest.NewServer(nil)
	c := NewClient(strings.TrimPrefix(api.URL, "http://"))
	api.Close()
	require.ErrorContains(t, only(End.Send(t.Context(), c, none{})), "the proxy does not answer")
	soon, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, c.Await(soon), "the proxy does not answer")
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestRenew_UsedMachine_IsReset(t *testing.T) {
	volumes := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(volumes, "n1"), 0o755))
	m, err := newMachines(volumes)
	require.NoError(t, err)
	disk, control := filepath.Join(volumes, "n1", "disk"), filepath.Join(volumes, "n1", "control")
	require.DirExists(t, disk)
	require.FileExists(t, control)

	before := time.Now()
	shown, err := m.setClock(t.Context(), ClockChange{Server: "n1", Jump: time.Hour})
	require.NoError(t, err)
	const rounding = time.Millisecond // the jump starts from another reading of the clock than ours
	require.WithinRange(t, time.Unix(0, shown), before.Add(time.Hour-rounding), time.Now().Add(time.Hour+rounding))
	file := filepath.Join(disk, "dump.rdb")
	require.NoError(t, os.WriteFile(file, []byte("never synced"), 0o644))
	lost, err := m.cutPower(t.Context(), "n1")
	require.NoError(t, err)
	require.EqualValues(t, 12, lost)
	require.Empty(t, read(t, file))

	require.NoError(t, only(m.renew(t.Context(), Machine{Server: "n1", Settings: "save \"\"\n"})))
	require.NoFileExists(t, file)
	settings := filepath.Join(volumes, "n1", settingsFile)
	require.Equal(t, "save \"\"\n", read(t, settings))
	require.NoError(t, only(m.keep(t.Context(), Machine{Server: "n1", Settings: "replicaof n2 6379\n"})))
	require.Equal(t, "save \"\"\nreplicaof n2 6379\n", read(t, settings))
	require.ErrorContains(t, only(m.keep(t.Context(), Machine{Server: "../n1"})), "there is no machine of")
	before = time.Now()
	shown, err = m.setClock(t.Context(), ClockChange{Server: "n1"})
	require.NoError(t, err)
	require.WithinRange(t, time.Unix(0, shown), before, time.Now())
}

// A caller gives up the wait for a retired server, kills it, and renews its machine. That removes againFile, so the
// first renew's wait ends too.
func TestRenew_WaitCancelled_KeepsTheLaterMachine(t *testing.T) {
	volumes := t.TempDir()
	volume := filepath.Join(volumes, "n1")
	require.NoError(t, os.Mkdir(volume, 0o755))
	m, err := newMachines(volumes)
	require.NoError(t, err)
	require.NoError(t, only(m.retire(t.Context(), "n1")))
	patience, lose := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- only(m.renew(patience, Machine{Server: "n1", Retired: true})) }()
	lose()
	require.NoError(t, only(m.renew(t.Context(), Machine{Server: "n1", Settings: "of the second order\n"})))
	require.ErrorIs(t, <-given, context.Canceled)
	require.Equal(t, "of the second order\n", read(t, filepath.Join(volume, settingsFile)))
}
