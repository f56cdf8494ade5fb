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

// settings are the lines of redis.conf for a persistence setting and further settings by name. The server requires the
// Password, and allows DEBUG SLEEP (occupy).
func settings(p cluster.Persistence, more map[string]string) string {
	const aof = "save \"\"\nappendonly yes\nauto-aof-rewrite-percentage 0\nappendfsync "
	lines := PasswordSettings() + "enable-debug-command yes\nrepl-diskless-sync no\n"
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

// Password protects every server of this harness: other users of the machine can dial loopback addresses, and must not
// read or write judged data. Each harness draws its own, and writes it only to files with owner-only permissions.
var Password = sync.OnceValue(rand.Text)

// PasswordSettings are the lines of redis.conf for the password, as a server and as a replica.
func PasswordSettings() string {
	return fmt.Sprintf("requirepass %s\nmasterauth %[1]s\n", Password())
}
