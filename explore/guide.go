package explore

import (
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// guide chooses schedules by what earlier ones have come to.
type guide struct {
	strategy Strategy
	seen     map[uint64]bool
	corpus   []Reached
	all      []*Schedule // where they are gone through
}

// Reached is a schedule that was the first to reach a state.
type Reached struct {
	Number   int       `json:"number"`
	Schedule *Schedule `json:"schedule"`
}

// newGuide knows what a search has come to so far.
func newGuide(s *Space, t Tally) *guide {
	g := &guide{strategy: s.Strategy, seen: map[uint64]bool{}, corpus: t.Corpus}
	for _, state := range t.Seen {
		g.seen[state] = true
	}
	if g.strategy == Exhaust {
		g.all = s.All()
	}
	return g
}

// next gives the schedule of a number, and the seed of its trial.
func (g *guide) next(s *Space, first uint64, number int) (*Schedule, uint64) {
	if g.strategy == Exhaust {
		return g.all[number], exhaustSeed
	}
	seed := first + uint64(number)
	return g.draw(s, seed, g.before(number)), seed
}

// before are those of the corpus that had been reached when the batch of a number began:
// where a batch was interrupted, its first part is not told of to the rest.
func (g *guide) before(number int) []Reached {
	began := number - number%batch
	return g.corpus[:sort.Search(len(g.corpus), func(i int) bool { return g.corpus[i].Number >= began })]
}

// draw gives the schedule of a seed: a new one, or, where it is guided, as often one of
// the corpus with something changed.
func (g *guide) draw(s *Space, seed uint64, corpus []Reached) *Schedule {
	drawn := s.Draw(seed)
	r := rand.New(rand.NewPCG(seed, 0x9a1de))
	if g.strategy != Guided || len(corpus) == 0 || r.IntN(2) == 0 {
		return drawn
	}
	// The latest have come furthest.
	i := len(corpus) - 1 - r.IntN(min(len(corpus), 1+r.IntN(len(corpus))))
	return mutate(r, corpus[i].Schedule, drawn)
}

// learn takes in what a batch has reached, in the order of its schedules.
func (g *guide) learn(batch []trial) {
	for _, t := range batch {
		fresh := false
		for _, state := range t.result.States {
			fresh = fresh || !g.seen[state]
			g.seen[state] = true
		}
		if fresh && g.strategy == Guided {
			g.corpus = append(g.corpus, Reached{t.number, t.schedule})
		}
	}
}

// mutate changes one to three things of a schedule: a step goes, comes from another
// schedule, or moves; or a duration changes.
func mutate(r *rand.Rand, s, other *Schedule) *Schedule {
	c := s.clone()
	for range 1 + r.IntN(3) {
		if len(c.Steps) == 0 {
			break
		}
		i := r.IntN(len(c.Steps))
		switch r.IntN(4) {
		case 0:
			c.Steps = slices.Delete(c.Steps, i, i+1)
		case 1:
			if len(other.Steps) > 0 && other.Nodes <= c.Nodes && other.Clients <= c.Clients {
				c.Steps = append(c.Steps, pick(r, other.Steps...))
			}
		case 2:
			c.Steps[i].At = max(0, c.Steps[i].At+pick[time.Duration](r, -1, 1)*c.TTL/grain*time.Duration(1+r.IntN(200)))
		default:
			c.Steps[i].For.Fixed = c.Steps[i].For.Fixed * time.Duration(r.IntN(20)+1) / 10
			c.Steps[i].Within.Fixed = c.Steps[i].Within.Fixed * time.Duration(r.IntN(20)+1) / 10
		}
	}
	c.settle()
	return c
}
