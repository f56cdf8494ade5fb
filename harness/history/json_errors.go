package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// describeJSONError turns an error of encoding/json into one that tells the reader of a
// history what is wrong with the line and what would be right.
func describeJSONError(line []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the line ends in the middle of an event; it must hold a whole JSON object: %w", err)
	case errors.As(err, &syntax):
		return fmt.Errorf("column %d: this is not JSON (%s); each line holds one event, a JSON object",
			syntax.Offset, strings.TrimPrefix(err.Error(), "json: "))
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("the line is %s; each line holds one event, a JSON object", withArticle(kind.Value))
	case errors.As(err, &kind):
		return fmt.Errorf("the field %q is %s; it must be %s", kind.Field, withArticle(kind.Value), jsonTypeName(kind.Type))
	}
	if path, known := unknownField(line, reflect.TypeFor[Event](), ""); path != "" {
		return fmt.Errorf("unknown field %q; the fields here are %s", path, strings.Join(known, ", "))
	}
	return err
}

// withArticle puts encoding/json's name of a value into a sentence.
func withArticle(value string) string {
	switch kind, detail, _ := strings.Cut(value, " "); {
	case kind == "number" && detail != "":
		return "the number " + detail
	case kind == "array" || kind == "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}

// jsonTypeName says what JSON value a Go type takes.
func jsonTypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "an integer that fits 64 bits"
	case reflect.Uint64:
		return "an integer from 0 that fits 64 bits"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// unknownField finds the first field of a JSON object, or of the objects in it,
// that t does not have, and the fields that t has in its place.
func unknownField(object []byte, t reflect.Type, prefix string) (path string, known []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return "", nil
	}
	types := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known, types[name] = append(known, name), f.Type
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inner, ok := types[name]
		if !ok {
			return prefix + name, known
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct {
			continue
		}
		if path, known := unknownField(members[name], inner, prefix+name+"."); path != "" {
			return path, known
		}
	}
	return "", known
}
