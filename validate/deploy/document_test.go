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
		"kind: List\nitems:\n- kind: Pod\n\"services\": {}\n", "- a\n- kind: List\n", "kind: List\n- kind: Pod\n"} {
		require.Nil(t, listParts(text), text)
	}
}

// An operator changes a line that has the value: that of the anchor, not that of its use.
func TestAt_AliasesAndMerges_LeadToTheValue(t *testing.T) {
	const text = `x-a: &a
  # what each has
  command: redis-server
x-b: &b
  <<: *a
  image: redis
  volumes: &v
    - data:/data
services:
  lock:

    # of its own
    <<: [{restart: always}, *b]
    environment:
      # the zone
      TZ: UTC
    image: valkey
  other: {command: &c first, user: *c, volumes: *v}
x-c: &c second
x-d: *c
x-e: {<<: [{image: first}, *b]}
`
	all, err := readDocuments("x", text)
	require.NoError(t, err)
	services := all[0].get("services")
	for _, tt := range []struct {
		at   string
		line int
	}{
		{services.at("lock").String(), 10}, {services.at("lock", "command").String(), 3},
		{services.at("lock", "image").String(), 17}, {services.at("lock", "volumes", 0).String(), 8},
		{services.at("lock", "restart").String(), 13}, {services.at("lock", "environment").String(), 14},
		{services.at("lock", "absent").String(), 10}, {services.at("other", "user").String(), 18},
		{services.at("other", "volumes", 0).String(), 8}, {all[0].at("x-d").String(), 19},
		{all[0].at("x-e", "image").String(), 21}, {all[0].at().String(), 1},
	} {
		require.Equal(t, fmt.Sprintf("x:%d", tt.line), tt.at)
	}
}
