package explore

import (
	"math/rand/v2"
	"slices"
	"time"
)

// guide chooses schedules by what earlier ones have come to.
type guide struct {
	strategy Strategy
	seen     map[uint64]bool
	corpus   []*Schedule // those that reached a state first
	all      []*Schedule // where they are gone through
}

func newGuide(s *Space) *guide {
	g := &guide{strategy: s.Strategy, seen: map[uint64]bool{}}
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
	return g.draw(s, seed), seed
}

// draw gives the schedule of a seed: a new one, or, where it is guided, as often one of
// the corpus with something changed.
func (g *guide) draw(s *Space, seed uint64) *Schedule {
	drawn := s.Draw(seed)
	r := rand.New(rand.NewPCG(seed, 0x9a1de))
	if g.strategy != Guided || len(g.corpus) == 0 || r.IntN(2) == 0 {
		return drawn
	}
	// The latest have come furthest.
	i := len(g.corpus) - 1 - r.IntN(min(len(g.corpus), 1+r.IntN(len(g.corpus))))
	return mutate(r, g.corpus[i], drawn)
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
			g.corpus = append(g.corpus, t.schedule)
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
