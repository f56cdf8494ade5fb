package browser

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

//go:embed accessible.js
var accessible string

// named are the ARIA 1.2 roles that require a name.
var named = []string{
	"button", "link", "textbox", "searchbox", "spinbutton", "slider", "combobox", "checkbox", "radio", "radiogroup",
	"image", "img", "region", "form", "progressbar", "meter", "tab", "dialog",
}

// RequireAccessible fails the test with every obstacle for readers without eyes, mouse or good contrast: the rules of
// axe-core that matter for these pages. No registry in reach has axe-core.
func (b *Tab) RequireAccessible() {
	b.t.Helper()
	require.Empty(b.t, b.accessibilityProblems())
}

func (b *Tab) accessibilityProblems() []string {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(b.t, err)
	var wrong []string
	for _, n := range tree.Nodes {
		role := describeValue(n.Role)
		if !n.Ignored && slices.Contains(named, role) && strings.TrimSpace(describeValue(n.Name)) == "" {
			wrong = append(wrong, fmt.Sprintf("a %s has no name (node %d)", role, n.BackendDOMNodeID))
		}
	}
	if more := b.Text(accessible); more != "" {
		wrong = append(wrong, strings.Split(more, "\n")...)
	}
	return wrong
}

func describeValue(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}
