package reports

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The document names every field that results.json can have.
func TestTheDocumentNamesEveryField(t *testing.T) {
	data, err := os.ReadFile("../docs/results.md")
	require.NoError(t, err)
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(r reflect.Type) {
		switch r.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(r.Elem())
		case reflect.Struct:
			if seen[r] || r == reflect.TypeFor[time.Time]() {
				return
			}
			seen[r] = true
			for i := range r.NumField() {
				field := r.Field(i)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				if name != "" {
					require.Contains(t, string(data), "`"+name+"`", "field %s of %s", field.Name, r)
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[Results]())
	require.Greater(t, len(seen), 8)
}
