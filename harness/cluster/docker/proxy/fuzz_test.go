package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/network"
	"example.org/lockproof/internal/input/inputtest"
)

// numbered returns a JSON object with n keys.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"n` + strings.Repeat("x", i%40) + strings.Repeat("y", i/40) + `":""`)
	}
	return "{" + b.String()[1:] + "}"
}

func TestMessages_Endless_BothSidesStopReading(t *testing.T) {
	s, _ := fresh(t)
	code, said := send(s, "/machine", `{"server":"n1","settings":"`+strings.Repeat("x", int(maxBody)))
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, said, "/machine wants JSON: http: request body too large")

	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, `{"`)
		for more := []byte(strings.Repeat("x", 1<<20)); err == nil; {
			_, err = w.Write(more)
		}
	}))
	defer api.Close()
	c := NewClient(strings.TrimPrefix(api.URL, "http://"))
	defer c.Close()
	inputtest.Bounded(t, 0, func() {
		_, err := Clock.Send(t.Context(), c, none{})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		_, err = Events.Send(t.Context(), c, 0)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// fresh makes a proxy with one server's volume, in a folder below above.
func fresh(t testing.TB) (s *Server, above string) {
	above = t.TempDir()
	for _, dir := range []string{"volumes", "volumes/n1"} {
		require.NoError(t, os.Mkdir(filepath.Join(above, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(above, "foreign"), nil, 0o600))
	s, err := NewServer(filepath.Join(above, "volumes"))
	require.NoError(t, err)
	return s, above
}

// send sends one message to a proxy.
func send(s *Server, path, text string) (code int, said string) {
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader(text)))
	return answer.Code, answer.Body.String()
}

// paths are the calls with a message.
var paths = []string{"/run", "/server", "/link/cut", "/machine/retire", "/machine", "/machine/clock", "/machine/disk",
	"/machine/power", "/events", "/machine/keep", "/link/heal", "/link/delay", "/link/intercept", "/link/let-go",
	"/link/count", "/link/measure", "/link/traffic"}

// FuzzMessage sends any text to any path during a run. The proxy answers or refuses it, and changes only the volumes.
func FuzzMessage(f *testing.F) {
	for _, seed := range []struct {
		path int
		text string
	}{
		{0, `{"links":[{"from":"c1","to":"n1"}],"servers":{"n1":"127.0.0.1:1"},"delay":1000,"stall_limit":1}`},
		{0, `{"links":[` + strings.Repeat("{},", 40_000) + `{}],"servers":` + numbered(1500) + `}`},
		{0, `{"links":[{"from":"c"},{"from":"c"}],"servers":{"":""}}`}, {0, `{"streams":[{"to":"n9"}]}`},
		{0, strings.Repeat(`{"servers":`, 100_000)},
		{1, `{"server":"n1","address":"127.0.0.1:1"}`},
		{2, `{"from":"c1","to":"n1","direction":"both"}`},
		{11, `{"from":"c1","to":"n1","by":9223372036854775807}`},
		{12, `{"from":"c1","to":"n1","intercept":{"Command":"SET","Times":-5}}`},
		{16, `{"from":"c1","to":"n1","number":-1}`},
		{3, `"n1"`}, {4, `{"server":"n1","settings":"save \"\""}`},
		{4, `{"server":".."}`}, {4, `{"server":"."}`}, {4, `{"server":"/"}`}, {3, `".."`},
		{4, `{"server":"n1","settings":"` + strings.Repeat("x", 3<<20) + `"}`},
		{5, `{"server":"n1","jump":9223372036854775807,"rate":1e308}`}, {6, `{"server":"n1","slow":-1,"full":true}`},
		{7, `"n1"`}, {8, `-1`}, {8, `9`},
	} {
		f.Add(seed.path, seed.text)
	}
	f.Fuzz(func(t *testing.T, path int, text string) {
		s, above := fresh(t)
		code, _ := send(s, "/run", `{"links":[{"from":"c1","to":"n1"}],"servers":{"n1":""}}`)
		require.Equal(t, http.StatusOK, code)
		inputtest.Bounded(t, len(text), func() { code, _ = send(s, paths[uint(path)%uint(len(paths))], text) })
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest, http.StatusConflict}, code)
		require.NoError(t, s.end())
		for _, name := range []string{"foreign", "volumes/n1"} {
			_, err := os.Stat(filepath.Join(above, name))
			require.NoError(t, err, "%s is gone", name)
		}
	})
}

// FuzzAnswer gives a client any text as its proxy's answer. The client reads or refuses it.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"monotonic":1}`)
	f.Add(`[{"from":"c1","to":"n1","port":7001}]`)
	f.Add(`{"time":1,"type":"stall"}` + "\n" + `{"time":2}`)
	f.Add(`{"monotonic":` + strings.Repeat(" ", 4<<20) + "1}")
	f.Add(strings.Repeat(`{"header":`, 200_000))
	f.Fuzz(func(t *testing.T, text string) {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write([]byte(text))
		}))
		defer api.Close()
		c := NewClient(strings.TrimPrefix(api.URL, "http://"))
		defer c.Close()
		inputtest.Bounded(t, len(text), func() {
			_, clock := Clock.Send(t.Context(), c, none{})
			_, run := Begin.Send(t.Context(), c, network.Run{})
			require.False(t, clock == nil && run == nil && strings.TrimSpace(text) != "null", "one text is no object and a list")
			_, _ = Events.Send(t.Context(), c, 0)
		})
	})
}
