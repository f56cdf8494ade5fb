package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAUnitMayExecute(t *testing.T) {
	tests := []struct {
		lines   string
		refused bool
	}{
		{"", false},
		{"NoExecPaths=/", true},
		{"NoExecPaths=/\nExecPaths=/usr/bin/redis-server /usr/lib /lib", true}, // Debian's redis-server.service
		{"NoExecPaths=/\nExecPaths=/usr/bin/redis-server\nExecPaths=/bin/sleep", false},
		{"NoExecPaths=/\nExecPaths=-/usr/bin/sleep", false},
		{"NoExecPaths=/\nExecPaths=/usr/bin/", false},
		{"NoExecPaths=/\nExecPaths=/", false},
		{"NoExecPaths=/\nExecPaths=/usr/bin/sleepless", true},
		{"NoExecPaths=/usr/bin\nExecPaths=/usr", true},
		{"NoExecPaths=/\nNoExecPaths=", false},
		{"NoExecPaths=/tmp -/var", false},
		{"ExecPaths=/usr/bin/redis-server", false},
	}
	for _, tt := range tests {
		p, err := ParsePolicy("x.service", []byte("[Service]\nRestart=no\n"+tt.lines), "")
		require.NoError(t, err)
		require.Equal(t, tt.refused, p.SleepRefused, tt.lines)

		p, err = ParsePolicy("x.service", []byte("[Service]\nRestart=no\nExecStartPre=-/bin/sleep 31\n"+tt.lines), "")
		require.NoError(t, err)
		if !tt.refused {
			require.Empty(t, p.Remarks, tt.lines)
			continue
		}
		require.Len(t, p.Remarks, 1, tt.lines)
		require.Equal(t, Crashes, p.Remarks[0].Doubts)
		require.Equal(t, "x.service:3", p.Remarks[0].Place.String())
		require.Contains(t, p.Remarks[0].What, "add ExecPaths=/bin/sleep")
	}

	// With full privileges there is no sandbox.
	p, err := ParsePolicy("x.service", []byte("[Service]\nExecStartPre=+/bin/sleep 31\nNoExecPaths=/"), "")
	require.NoError(t, err)
	require.Empty(t, p.Remarks)
}
