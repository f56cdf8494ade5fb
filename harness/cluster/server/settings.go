package server

import (
	"maps"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
)

// Settings are the lines of redis.conf for a persistence setting, and for further
// ones by name. The server asks for the Password, and the harness may say DEBUG SLEEP (Occupy).
func Settings(p cluster.Persistence, more map[string]string) string {
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
