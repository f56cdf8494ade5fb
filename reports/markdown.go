package reports

import (
	"regexp"
	"strings"

	"example.org/lockproof/reports/terminal"
)

// escapes make every character of GitHub's Markdown that could begin markup
// stand for itself: emphasis, code, links, images, HTML, table cells,
// mathematics, and GitHub's own mentions, references and bare addresses, which
// a backslash does not stop but an empty comment does.
var escapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`,
	"[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", `\|`, "$", `\$`,
	"@", "@<!-- -->", "#", "#<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.",
)

// escape makes text stand for itself within a line of Markdown.
func escape(text string) string {
	return escapes.Replace(terminal.Clean(text))
}

// leading is what at the beginning of a line makes a list or a heading of it.
var leading = regexp.MustCompile(`^(\d*)([-+=.)])`)

// paragraph makes text stand for itself as a paragraph of Markdown.
func paragraph(text string) string {
	return leading.ReplaceAllString(escape(text), `$1\$2`)
}

// code shows text as code. The element is used in place of backticks, since
// those have no escape of their own within a table.
func code(text string) string {
	return "<code>" + escape(text) + "</code>"
}

// fenced shows lines as they are, in a fence longer than any within them.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
