package html

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var pair = regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`)

// colours reads the page's colours by name, for light and for dark.
func colours(t *testing.T) map[string][2]string {
	css, err := os.ReadFile("colours.css")
	require.NoError(t, err)
	named := map[string][2]string{}
	for _, m := range pair.FindAllStringSubmatch(string(css), -1) {
		named[m[1]] = [2]string{m[2], m[3]}
	}
	return named
}

// contrast is the contrast ratio of WCAG 2.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

func luminance(colour string) float64 {
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Text needs WCAG's AA contrast (4.5) with every background, graphics need 3, in both themes.
func TestColours_SufficientContrast(t *testing.T) {
	named := colours(t)
	require.Greater(t, len(named), 20)
	type need struct {
		front, back string
		ratio       float64
	}
	var needs []need
	for _, ground := range []string{"page", "card", "sunk"} {
		for _, text := range []string{"ink", "quiet", "link", "bad"} {
			needs = append(needs, need{text, ground, 4.5})
		}
	}
	for _, kind := range []string{"good", "bad", "doubt"} {
		needs = append(needs, need{kind, kind + "-tint", 4.5}, need{"page", kind, 4.5})
	}
	needs = append(needs, need{"mark-text", "mark", 4.5}, need{"edge", "sunk", 3}, need{"edge", "card", 3},
		need{"ink", "doubt-tint", 4.5}, need{"ink", "bad-tint", 4.5}, need{"doubt", "sunk", 3},
		need{"quiet", "bad-tint", 4.5})
	for _, owner := range []string{"o0", "o1", "o2", "o3", "o4", "o5"} {
		needs = append(needs, need{owner, "sunk", 3}, need{owner, owner + "-tint", 3}, need{"ink", owner + "-tint", 4.5})
	}
	for _, n := range needs {
		for i, theme := range []string{"light", "dark"} {
			require.NotEmpty(t, named[n.front][i], n.front)
			require.NotEmpty(t, named[n.back][i], n.back)
			got := contrast(named[n.front][i], named[n.back][i])
			require.GreaterOrEqual(t, got, n.ratio, "%s on %s, %s: %.2f", n.front, n.back, theme, got)
		}
	}
}
