package bubble

import (
	"regexp"
	"strings"
)

// waitsForMutex begins the stack of a goroutine of a bubble that waits for a mutex.
var waitsForMutex = regexp.MustCompile(`^goroutine \d+ .*\[sync\.(RW)?Mutex\.R?Lock\b.*synctest bubble`)

// MutexWait is where a goroutine of some bubble waits for a mutex, as file and line, "" if none does. Whoever holds
// that mutex and waits for virtual time to pass waits in vain: it stands still while another waits for a mutex.
func MutexWait() string {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if waitsForMutex.MatchString(stack) {
			return parse(stack).line
		}
	}
	return ""
}
