package realcluster

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"example.org/lockproof/harness/cluster"
)

// settings are the lines of redis.conf for a persistence setting, and for further
// ones by name. The server asks for the Password, and the harness may say DEBUG SLEEP (occupy).
func settings(p cluster.Persistence, more map[string]string) string {
	const aof = "save \"\"\nappendonly yes\nauto-aof-rewrite-percentage 0\nappendfsync "
	lines := guard() + "enable-debug-command yes\n"
	switch p {
	case cluster.PersistNone, "":
		lines += "save \"\"\nappendonly no\n"
	case cluster.PersistRDB: // Redis's default save points, written out
		lines += "save 3600 1 300 100 60 10000\nappendonly no\n"
	default:
		lines += aof + strings.TrimPrefix(string(p), "aof-") + "\n"
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		lines += name + " " + more[name] + "\n"
	}
	return lines
}

// Password is what every server of this harness asks for: other users of the machine reach its loopback addresses, and
// are not to read or write what is judged. Each harness draws its own, and writes it only to files that only their
// owner can read.
var Password = sync.OnceValue(rand.Text)

// guard are the lines of redis.conf that have a server ask for the password, and
// give it to the master that it follows.
func guard() string {
	return fmt.Sprintf("requirepass %s\nmasterauth %[1]s\n", Password())
}
