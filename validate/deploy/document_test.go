package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What kubectl get prints of a namespace is longer than a document may be, and so are an operator's definitions.
func TestReadDocuments_LongListAndDefinitions_EachObjectHasItsLine(t *testing.T) {
	const many = 1900
	var b strings.Builder
	b.WriteString("apiVersion: v1\nitems:\n")
	for i := range many {
		fmt.Fprintf(&b, "- apiVersion: v1\n  data: {a: [b, c, d, e, f]}\n  kind: ConfigMap\n  metadata:\n    name: m%d\n", i)
	}
	b.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n---\nkind: CustomResourceDefinition\nspec:\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "  p%d: {type: string}\n", i)
	}
	b.WriteString("---\nkind: Service\nmetadata:\n  name: last\n")
	all, err := readDocuments("x", b.String())
	require.NoError(t, err)
	require.Len(t, all, many+1)
	require.Equal(t, "ConfigMap m1899", all[many-1].object())
	require.Equal(t, fmt.Sprintf("x:%d", 2+5*many), all[many-1].at("metadata", "name").String())
	require.Equal(t, strings.Count(b.String(), "\n"), all[many].at("metadata", "name").Line)
}

// A List that says more than kubectl's does is read whole.
func TestReadDocuments_ListWithOtherKeys_IsReadWhole(t *testing.T) {
	for _, text := range []string{"kind: List\nitems:\n- kind: Pod\n  spec: *a\nx: &a {}\n",
		"kind: List\nitems:\n- kind: Pod\nservices:\n  a: {image: redis}\n",
		"kind: List\nitems:\n- kind: Pod\n\"services\": {}\n", "- a\n- kind: List\n"} {
		require.Nil(t, listParts(text), text)
	}
}
