package history

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// appendEvent appends e as one line, newline included. It writes what
// encoding/json would write (without its HTML escapes), at a fraction of the
// cost: events are the hot path of thousands of trials. Operations and
// commands, which make up nearly all of a history, are written field by field;
// the rare parts go through encoding/json.
func appendEvent(b []byte, e *Event) ([]byte, error) {
	start := len(b)
	b = append(b, `{"time":`...)
	b = strconv.AppendInt(b, e.Time, 10)
	b = appendString(append(b, `,"process":`...), e.Process)
	b = appendString(append(b, `,"type":`...), string(e.Type))
	b = appendOperation(b, e)
	if e.Command != nil {
		b = appendCommand(append(b, `,"command":`...), e.Command)
	}
	b, err := appendRare(b, e)
	if err != nil {
		return b[:start], err
	}
	return append(b, "}\n"...), nil
}

// appendOperation appends the fields of client operations.
func appendOperation(b []byte, e *Event) []byte {
	b = appendText(b, `,"op":`, string(e.Op))
	b = appendNumber(b, `,"id":`, int64(e.ID))
	b = appendNumber(b, `,"lease":`, int64(e.Lease))
	b = appendText(b, `,"key":`, e.Key)
	b = appendText(b, `,"token":`, e.Token)
	b = appendNumber(b, `,"fence":`, e.Fence)
	b = appendNumber(b, `,"validity":`, e.Validity)
	if e.Wall {
		b = append(b, `,"wall":true`...)
	}
	b = appendText(b, `,"value":`, e.Value)
	b = appendText(b, `,"base":`, e.Base)
	b = appendText(b, `,"reason":`, e.Reason)
	return appendText(b, `,"error":`, e.Error)
}

func appendCommand(b []byte, c *Command) []byte {
	b = strconv.AppendInt(append(b, `{"serial":`...), c.Serial, 10)
	b = appendString(append(b, `,"name":`...), c.Name)
	b = appendText(b, `,"key":`, c.Key)
	b = appendText(b, `,"token":`, c.Token)
	b = appendNumber(b, `,"expiry":`, c.Expiry)
	b = appendNumber(b, `,"ends":`, c.ExpiresAt)
	b = appendText(b, `,"effect":`, string(c.Effect))
	if c.Unconditional {
		b = append(b, `,"plain":true`...)
	}
	if c.Extends {
		b = append(b, `,"extends":true`...)
	}
	b = appendNumber(b, `,"fence":`, c.Fence)
	b = appendText(b, `,"base":`, c.Base)
	if len(c.Others) > 0 {
		b, _ = appendJSON(append(b, `,"others":`...), c.Others) // strings always encode
	}
	b = appendText(b, `,"reply":`, c.Reply)
	if c.Done {
		b = append(b, `,"done":true`...)
	}
	return append(b, '}')
}

// appendRare appends the parts that few events have.
func appendRare(b []byte, e *Event) ([]byte, error) {
	var err error
	if e.Fault != nil && err == nil {
		b, err = appendJSON(append(b, `,"fault":`...), e.Fault)
	}
	if e.Node != nil && err == nil {
		b, err = appendJSON(append(b, `,"node":`...), e.Node)
	}
	if e.Clock != nil && err == nil {
		b, err = appendJSON(append(b, `,"clock":`...), e.Clock)
	}
	b = appendNumber(b, `,"late":`, e.Late)
	b = appendText(b, `,"text":`, e.Text)
	if e.Header != nil && err == nil {
		b, err = appendJSON(append(b, `,"header":`...), e.Header)
	}
	return b, err
}

// appendText appends a field that is left out when empty; name comes with its
// comma and colon.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendNumber appends a field that is left out when zero.
func appendNumber(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), n, 10)
}

// appendString appends s quoted. Plain ASCII is copied as it stands; what needs
// escapes is left to encoding/json.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			b, _ = appendJSON(b, s) // a string always encodes
			return b
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendJSON appends v as encoding/json writes it, without HTML escapes.
func appendJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
