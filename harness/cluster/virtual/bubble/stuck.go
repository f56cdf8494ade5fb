package bubble

import (
	"path"
	"regexp"
	"strings"
)

// waitsForMutex begins the stack of a goroutine of a bubble that waits for a mutex.
var waitsForMutex = regexp.MustCompile(`^goroutine \d+ .*\[sync\.(RW)?Mutex\.R?Lock\b.*synctest bubble`)

// waiter is a function on such a stack that is not Go's own, with its place.
var waiter = regexp.MustCompile(`(?m)^((?:[\w.~-]+/)*[\w.~-]+\.\S+)\([^()\n]*\)\n\t(\S+:\d+)`)

// MutexWait is where a goroutine of some bubble waits for a mutex, as file and line, "" if none does. Whoever holds
// that mutex and waits for virtual time to pass waits in vain: it stands still while another waits for a mutex.
func MutexWait() string {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if !waitsForMutex.MatchString(stack) {
			continue
		}
		for _, f := range waiter.FindAllStringSubmatch(stack, -1) {
			if !goOwn.MatchString(f[1]) {
				return path.Base(f[2])
			}
		}
	}
	return ""
}

var goOwn = regexp.MustCompile(`^(sync|runtime|internal/)\b`)
