package explore

// Strategy is how schedules are chosen.
type Strategy string

// Exhaust is not to draw: it goes through every schedule that Space.All lists.
const Exhaust Strategy = "exhaust"

// The strategies.
const (
	Uniform Strategy = "uniform" // from all kinds of faults
	Swarm   Strategy = "swarm"   // from a random half of them, another for each schedule
	PCTCP   Strategy = "pctcp"   // the order of deliveries in place of faults
	Guided  Strategy = "guided"  // swarm, and every other one a change of one that reached a new state
)
