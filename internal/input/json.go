package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ColumnError is a mistake at a column of a line, from 1.
type ColumnError struct {
	Column int64
	What   string
}

func (e *ColumnError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

// JSONLine decodes a line with exactly one JSON object and no unknown fields: a misspelt field must not be lost in
// silence. what names the object. An error says what is wrong and what is accepted. For a line that ends too early it
// is io.ErrUnexpectedEOF.
func JSONLine(line []byte, into any, what string) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return fmt.Errorf("the line is empty; each line holds one %s, a JSON object", what)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return describe(line, into, what, err)
	}
	if rest := bytes.TrimSpace(line[decoder.InputOffset():]); len(rest) > 0 {
		return &ColumnError{decoder.InputOffset() + 1,
			fmt.Sprintf("there is more after the %s; each line holds one JSON object and no more", what)}
	}
	return nil
}

// describe turns an error of encoding/json into one that says what is wrong with the line and what is accepted.
func describe(line []byte, into any, what string, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the line ends in the middle of its %s; it must hold a whole JSON object: %w", what, err)
	case errors.As(err, &syntax):
		return &ColumnError{syntax.Offset, fmt.Sprintf("this is not JSON (%s); each line holds one %s, a JSON object",
			strings.TrimPrefix(err.Error(), "json: "), what)}
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("the line is %s; each line holds one %s, a JSON object", withArticle(kind.Value), what)
	case errors.As(err, &kind):
		return fmt.Errorf("the field %q is %s; it must be %s", kind.Field, withArticle(kind.Value), jsonTypeName(kind.Type))
	}
	if path, known := unknownField(line, reflect.TypeOf(into).Elem(), ""); path != "" {
		return fmt.Errorf("unknown field %q; the fields here are %s", path, strings.Join(known, ", "))
	}
	return err
}

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

// jsonTypeName names the JSON value for a Go type.
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

// unknownField finds the first field of a JSON object, or of a nested one, that t does not have. known are the fields
// of t at that level.
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
