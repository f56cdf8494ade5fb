package scenarios

import (
	"strconv"
	"strings"

	"example.org/lockproof/internal/suggest"
)

// instead says what would be right in place of a name that does not exist: those that are
// near, or all that there are. Label introduces the list: "the verbs are".
func instead[T ~string](name string, candidates []T, label string) string {
	among := make([]string, len(candidates))
	for i, c := range candidates {
		among[i] = string(c)
	}
	if near := suggest.Names(name, among); len(near) > 0 {
		return didYouMean(near)
	}
	return label + " " + strings.Join(among, ", ")
}

func didYouMean(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
	}
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}
