package server

import (
	"crypto/rand"
	"fmt"
	"sync"
)

// Password is what every server of this harness asks for: other users of the machine reach its loopback addresses, and
// are not to read or write what is judged. Each harness draws its own, and writes it only to files that only their
// owner can read.
var Password = sync.OnceValue(rand.Text)

// guard are the lines of redis.conf that have a server ask for the password, and
// give it to the master that it follows.
func guard() string {
	return fmt.Sprintf("requirepass %s\nmasterauth %[1]s\n", Password())
}
