package link

import (
	"sync"

	"example.org/lockproof/harness/cluster/script"
)

// Scripts is what the links of one run know of the Lua scripts that they have
// seen: EVALSHA names a script only by its digest.
type Scripts struct {
	rehearsals *script.EffectCache

	mu     sync.Mutex
	texts  map[string]string          // by SHA-1
	loaded map[string]map[string]bool // by node, the digests that it has answered to
}

// NewScripts makes an empty set.
func NewScripts() *Scripts {
	return &Scripts{rehearsals: script.New(), texts: map[string]string{}, loaded: map[string]map[string]bool{}}
}

// learn remembers a script and gives its digest.
func (s *Scripts) learn(body string) string {
	digest := script.Digest(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[digest] = body
	return digest
}

func (s *Scripts) text(digest string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[digest]
}

// answered notes whether a node knows a script.
func (s *Scripts) answered(node, digest string, knows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded[node] == nil {
		s.loaded[node] = map[string]bool{}
	}
	s.loaded[node][digest] = knows
}

// forget: a node may have lost its scripts, as it may have been restarted.
func (s *Scripts) forget(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.loaded, node)
}

// knows says whether a node is known to have a script.
func (s *Scripts) knows(node, digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[node][digest]
}
