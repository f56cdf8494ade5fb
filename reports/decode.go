package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"lockproof/checker"
	"lockproof/harness/suite"
)

// The bounds of results that are read back. A run of many trials has hundreds of
// megabytes of them, so that they are read trial by trial; what is kept of them
// is bounded as well, since a trial may be as short as {}.
const (
	maxElement  = 2 << 20   // bytes of text: one trial, or all that is not in a list
	maxMemory   = 200 << 20 // bytes of memory, about
	emptyObject = 200       // bytes of memory for an object with nothing in it
)

// decodeResults reads results.json: all but its rows, and the trials of these.
// What else is in a row follows from its trials.
func decodeResults(from io.Reader) (*Results, []suite.Result, error) {
	text := &limitedReader{from: from}
	d := resultsDecoder{Decoder: json.NewDecoder(text), text: text, words: map[string]string{}}
	results := &Results{}
	var trials []suite.Result
	err := d.object(results, "scenarios", func() error {
		return d.object(&struct{}{}, "trials", func() error {
			t, err := d.trial()
			trials = append(trials, t)
			return err
		})
	})
	if err != nil {
		return nil, nil, err
	}
	text.left = maxElement
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("something follows the JSON object")
	}
	return results, trials, nil
}

// limitedReader gives so much of a text, and no more until it is told to go on: what has
// no end is not read to its end.
type limitedReader struct {
	from io.Reader
	left int
}

func (p *limitedReader) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, fmt.Errorf("a part of it has more than %d bytes", maxElement)
	}
	n, err := p.from.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

type resultsDecoder struct {
	*json.Decoder
	text *limitedReader
	kept int // bytes, about
	// words are the texts that come again and again, each kept once.
	words map[string]string
}

// object reads an object into a struct, but for one field, a list, whose
// elements are handed out one by one. The rest is put together again without the
// list, and has to be short.
func (d *resultsDecoder) object(into any, list string, element func() error) error {
	d.text.left = maxElement
	if err := d.delimiter('{'); err != nil {
		return err
	}
	rest := map[string]json.RawMessage{}
	size := 0
	for d.More() {
		d.text.left = maxElement
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string) // More and Token see to it that it is one
		if name == list {
			err = d.list(element)
		} else {
			var value json.RawMessage
			err = d.Decode(&value)
			rest[name] = value
			size += len(name) + len(value)
		}
		if err != nil {
			return err
		}
		if size > maxElement {
			return fmt.Errorf("a part of it has more than %d bytes", maxElement)
		}
	}
	if err := d.delimiter('}'); err != nil {
		return err
	}
	whole, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if err := d.reserve(len(whole) + emptyObject); err != nil {
		return err
	}
	return json.Unmarshal(whole, into)
}

// list hands out the elements of a list.
func (d *resultsDecoder) list(element func() error) error {
	token, err := d.Token()
	if err != nil || token == nil { // null is an empty list
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("there is %v in place of a list", token)
	}
	for d.More() {
		d.text.left = maxElement
		if err := element(); err != nil {
			return err
		}
	}
	return d.delimiter(']')
}

func (d *resultsDecoder) delimiter(want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("there is %v in place of %v", token, want)
	}
	return err
}

// trial reads one trial.
func (d *resultsDecoder) trial() (suite.Result, error) {
	before := d.InputOffset()
	var t suite.Result
	if err := d.Decode(&t); err != nil {
		return t, err
	}
	for _, text := range []*string{&t.Scenario, &t.Variant, &t.Cluster, &t.Server, &t.Lock} {
		*text = d.word(*text)
	}
	for i := range t.Results {
		r := &t.Results[i]
		r.Property, r.Verdict, r.Reason = d.word(r.Property), d.word(r.Verdict), d.word(r.Reason)
		r.Cause, r.Unmet = checker.Cause(d.word(string(r.Cause))), d.word(r.Unmet)
	}
	return t, d.reserve(size(t) + int(d.InputOffset()-before)/2)
}

// word gives a text that may come again: the one that is kept of it.
func (d *resultsDecoder) word(text string) string {
	if known, ok := d.words[text]; ok {
		return known
	}
	const most = 1000 // different texts; those of a run are few
	if len(d.words) < most {
		d.words[text] = text
	}
	return text
}

func (d *resultsDecoder) reserve(bytes int) error {
	if d.kept += bytes; d.kept > maxMemory {
		return fmt.Errorf("the results take more than %d MB of memory: run fewer trials, or fewer scenarios, at a time", maxMemory>>20)
	}
	return nil
}

// size is about what a trial takes in memory beside its texts.
func size(t suite.Result) int {
	bytes := 3*int(unsafe.Sizeof(t)) + // in a list that grows, and in its row
		len(t.Results)*int(unsafe.Sizeof(checker.Result{}))
	for _, r := range t.Results {
		bytes += len(r.Violations) * int(unsafe.Sizeof(checker.Violation{}))
		for _, v := range r.Violations {
			bytes += len(v.Leases)*int(unsafe.Sizeof(checker.Lease{})) + len(v.Processes)*int(unsafe.Sizeof(""))
		}
	}
	return bytes
}
