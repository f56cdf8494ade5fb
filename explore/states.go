package explore

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

// States is a set of states, each once and in order; as JSON it is text in base64, of
// eight bytes each, little end first.
type States []uint64

func statesOf(seen map[uint64]bool) States {
	all := make(States, 0, len(seen))
	for state := range seen {
		all = append(all, state)
	}
	slices.Sort(all)
	return all
}

// MarshalJSON encodes the set.
func (s States) MarshalJSON() ([]byte, error) {
	data := make([]byte, 0, 8*len(s))
	for _, state := range s {
		data = binary.LittleEndian.AppendUint64(data, state)
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(data))
}

// UnmarshalJSON decodes one.
func (s *States) UnmarshalJSON(text []byte) error {
	var data []byte // which package json decodes from base64
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	if len(data)%8 != 0 {
		return fmt.Errorf("a set of states has %d bytes: each state has 8", len(data))
	}
	*s = make(States, 0, len(data)/8)
	for ; len(data) > 0; data = data[8:] {
		*s = append(*s, binary.LittleEndian.Uint64(data))
	}
	return nil
}
