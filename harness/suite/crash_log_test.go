package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCrashLog(t *testing.T) {
	const trace = "\ngoroutine 7 [running]:\n"
	for _, c := range []struct{ name, written, words, said string }{
		{"nothing", "", "", ""},
		{"a last line", "starting\nit is over\n\n", "it is over", "starting\nit is over\n\n"},
		{"without an end", "half a line", "half a line", "half a line"},
		{"a panic", "hello\npanic: boom" + trace + "my/lock.(*Lock).Acquire(0xc000, {0x1, 0x2})\n\t/src/lock.go:33 +0x1\n",
			"panic: boom, in my/lock.(*Lock).Acquire", "hello\n"},
		{"a panic that was passed on", "panic: boom [recovered, repanicked]" + trace +
			"sync.(*WaitGroup).Go.func1.1()\n\twg.go:1\npanic({0x1, 0x2})\n\tpanic.go:2\n" +
			"my/lock.take(...)\n\tlock.go:3\ncreated by my/other.Start in goroutine 1\n", "panic: boom, in my/lock.take", ""},
		{"a fatal error", "fatal error: sync: unlock of unlocked mutex\n\ngoroutine 7 gp=0xc " +
			"[running]:\ninternal/sync.fatal({0x1})\n\tpanic.go\nsync.(*Mutex).Unlock(...)\n\tm.go\nmain.f()\n",
			"fatal error: sync: unlock of unlocked mutex, in main.f", ""},
		{"talk that begins like a panic", "panic: not really\n" + strings.Repeat("more\n", 8) + "end\n", "end",
			"panic: not really\n" + strings.Repeat("more\n", 8) + "end\n"},
		{"a long line", strings.Repeat("x", 3*lineLength) + "\n", strings.Repeat("x", lineLength),
			strings.Repeat("x", 3*lineLength) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said strings.Builder
			w := &crashLog{passThrough: &said}
			for _, b := range []byte(c.written) { // however it is cut
				n, err := w.Write([]byte{b})
				require.NoError(t, err)
				require.Equal(t, 1, n)
			}
			require.Equal(t, c.words, w.end())
			require.Equal(t, c.said, said.String())
		})
	}
}
