package checker

// names gives one copy of a string that comes again and again, so that the
// others can be forgotten: each line of a file that is read has its own.
type names map[string]string

// remembered is how many names are known at a time. Tokens come again within
// their lease only.
const remembered = 4096

// one gives the copy that was seen first.
func (n names) one(s string) string {
	known, found := n[s]
	if found {
		return known
	}
	if len(n) >= remembered {
		clear(n)
	}
	n[s] = s
	return s
}
