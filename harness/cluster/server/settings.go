package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
)

// Settings are the lines of redis.conf for a persistence setting, and for further
// ones by name. The server asks for the Password.
func Settings(p cluster.Persistence, more map[string]string) (string, error) {
	persistence, err := persistenceLines(p)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	lines.WriteString(guard() + debug + persistence)
	for _, name := range slices.Sorted(maps.Keys(more)) {
		fmt.Fprintf(&lines, "%s %s\n", name, more[name])
	}
	return lines.String(), nil
}

// debug lets the harness say DEBUG SLEEP (Occupy).
const debug = "enable-debug-command yes\n"

func persistenceLines(p cluster.Persistence) (string, error) {
	const aof = "save \"\"\nappendonly yes\nauto-aof-rewrite-percentage 0\nappendfsync "
	switch p {
	case cluster.PersistNone, "":
		return "save \"\"\nappendonly no\n", nil
	case cluster.PersistRDB:
		// Redis's default save points, written out.
		return "save 3600 1 300 100 60 10000\nappendonly no\n", nil
	case cluster.PersistNo:
		return aof + "no\n", nil
	case cluster.PersistEverysec:
		return aof + "everysec\n", nil
	case cluster.PersistAlways:
		return aof + "always\n", nil
	}
	return "", fmt.Errorf("no persistence setting %q: there are %s, %s, %s, %s and %s", p,
		cluster.PersistNone, cluster.PersistRDB, cluster.PersistNo, cluster.PersistEverysec, cluster.PersistAlways)
}
