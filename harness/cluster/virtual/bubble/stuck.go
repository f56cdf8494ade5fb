package bubble

import (
	"fmt"
	"regexp"
	"strings"
)

// waitsForMutex matches the stack of a goroutine in a bubble that waits for a mutex.
var waitsForMutex = regexp.MustCompile(`^goroutine \d+ .*\[sync\.(RW)?Mutex\.R?Lock\b.*synctest bubble`)

// MutexWait returns the function, file and line where a goroutine of any bubble waits for a mutex, "" if none does. If
// the mutex's holder waits for virtual time, that is a deadlock: virtual time stops while a goroutine waits for a
// mutex.
func MutexWait() string {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if waitsForMutex.MatchString(stack) {
			g := parse(stack)
			return fmt.Sprintf("%s (%s)", g.Waits, g.line)
		}
	}
	return ""
}
