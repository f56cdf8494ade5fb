package chapters

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"example.org/lockproof/docs/guide"
	"example.org/lockproof/lab"
	"example.org/lockproof/site"
)

var (
	reference = regexp.MustCompile(`\[([^\]]*)\]\(([^)]+)\)`)
	codeSpan  = regexp.MustCompile("`(?:/lab/)?([a-z0-9-]+)`(\\]?)")
)

// linked adds links to the lab: from the names of scenarios, and below each block of commands to the scenarios that it
// runs.
func linked(text string, known map[string]bool) string {
	parts := strings.Split(text, "```") // every second one is a block
	for i, part := range parts {
		if i%2 == 1 {
			if all := labLinks(part, known); len(all) > 0 && i+1 < len(parts) {
				parts[i+1] = "\n\n" + tryIt + strings.Join(all, ", ") + "\n" + parts[i+1]
			}
			continue
		}
		part = reference.ReplaceAllStringFunc(part, func(link string) string {
			m := reference.FindStringSubmatch(link)
			return follow(m[1], m[2])
		})
		parts[i] = codeSpan.ReplaceAllStringFunc(part, func(span string) string {
			m := codeSpan.FindStringSubmatch(span)
			if !known[m[1]] || m[2] != "" { // unknown, or already a link
				return span
			}
			return fmt.Sprintf("[%s](../lab/%s.html)", span, m[1])
		})
	}
	return strings.Join(parts, "```")
}

const tryIt = "Try it in the lab: "

// follow makes a link to another page of the guide; it reduces links to absent pages to their text.
func follow(text, to string) string {
	file, fragment, _ := strings.Cut(to, "#")
	if strings.Contains(file, ":") || file == "" || strings.Contains(file, ".html") { // to the lab or a finding
		return fmt.Sprintf("[%s](%s)", text, to)
	}
	if file == "../serve.md" {
		return fmt.Sprintf("[%s](../lab/%s.html)", text, site.Index)
	}
	for _, c := range guide.All() {
		if c.File == file {
			return strings.TrimSuffix(fmt.Sprintf("[%s](%s.html#%s", text, c.Name, fragment), "#") + ")"
		}
	}
	return text
}

// labLinks returns links to the scenarios that a block of commands runs.
func labLinks(block string, known map[string]bool) (all []string) {
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "$" || words[2] != "run" {
			continue
		}
		for _, w := range words[3:] {
			if known[w] {
				all = append(all, fmt.Sprintf("[%s](../lab/%s.html%s)", w, w, queryOf(words[3:])))
			}
		}
	}
	return all
}

// queryOf makes the query of a link to the lab from a command's flags.
func queryOf(words []string) string {
	q := url.Values{}
	for i, w := range words {
		control := map[string]string{"--lock": lab.LockControl, "--without": lab.RuleControl, "--seed": "seed"}[w]
		if control != "" && i+1 < len(words) {
			q.Set(control, words[i+1])
		}
	}
	return site.Query(q)
}
