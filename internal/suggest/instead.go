package suggest

import (
	"strconv"
	"strings"
)

// Instead suggests names in place of an unknown one: the near ones, or all names after a label such as "there are".
func Instead[T ~string](name string, among []T, label string) string {
	all := make([]string, len(among))
	for i, candidate := range among {
		all[i] = string(candidate)
	}
	if near := Names(name, all); len(near) > 0 {
		return DidYouMean(near)
	}
	return label + " " + strings.Join(all, ", ")
}

// DidYouMean suggests the near names.
func DidYouMean(near []string) string {
	quoted := make([]string, len(near))
	for i, name := range near {
		quoted[i] = strconv.Quote(name)
	}
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}
