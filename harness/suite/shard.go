package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"lockproof/harness/trial"
	"lockproof/scenarios"
)

// Shard is one part of a suite that is spread over several machines: the
// Index-th, from 1, of Count. The zero value is the whole suite.
type Shard struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

// MaxShards is how many parts a suite is split into at most.
const MaxShards = 1000

var shardForm = regexp.MustCompile(`^([0-9]{1,4})/([0-9]{1,4})$`)

// ParseShard reads "2/4", the second of four shards.
func ParseShard(text string) (Shard, error) {
	m := shardForm.FindStringSubmatch(text)
	if m == nil {
		return Shard{}, fmt.Errorf("%q is no shard: write it as in 2/4, the second of four", text)
	}
	index, _ := strconv.Atoi(m[1]) // the form has digits only
	count, _ := strconv.Atoi(m[2])
	switch {
	case count < 1 || count > MaxShards:
		return Shard{}, fmt.Errorf("%s: a suite has from 1 to %d shards", text, MaxShards)
	case index < 1 || index > count:
		return Shard{}, fmt.Errorf("%s: the shards of %d are 1/%d to %d/%d", text, count, count, count, count)
	}
	return Shard{index, count}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Shard gives the rows of a suite that one shard runs, in the suite's order.
// Which these are follows from the suite and the cluster alone, so that every
// row is in exactly one shard, and each shard has something to run: the rows
// are dealt out by the time that they are likely to take, the longest first,
// each to the shard that has least so far. A suite with fewer rows to run than
// shards is an error.
func (o Options) Shard(jobs []Job, s Shard) ([]Job, error) {
	lengths := make([]time.Duration, len(jobs))
	order := make([]int, len(jobs))
	running := 0
	for i, j := range jobs {
		p, err := o.settle(j)
		if err != nil {
			return nil, err
		}
		if p.Skip() == "" {
			lengths[i] = length(p)
			running++
		}
		order[i] = i
	}
	if running < s.Count {
		return nil, fmt.Errorf("a suite with %s to run cannot be split into %d shards", rows(running), s.Count)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lengths[b], lengths[a]) })
	loads := make([]burden, s.Count)
	var mine []int
	for _, i := range order {
		k := least(loads)
		loads[k].time += lengths[i]
		loads[k].rows++
		if k == s.Index-1 {
			mine = append(mine, i)
		}
	}
	slices.Sort(mine)
	part := make([]Job, len(mine))
	for k, i := range mine {
		part[k] = jobs[i]
	}
	return part, nil
}

// burden is what a shard has to run so far.
type burden struct {
	time time.Duration
	rows int
}

// least is the shard with the least time; among equals, with the fewest rows,
// so that rows that are skipped are spread as well.
func least(loads []burden) int {
	best := 0
	for k, b := range loads {
		if c := cmp.Compare(b.time, loads[best].time); c < 0 || c == 0 && b.rows < loads[best].rows {
			best = k
		}
	}
	return best
}

// The parts of the time that a trial is likely to take.
const (
	startLength   = 500 * time.Millisecond // of a cluster
	acquireLength = 0.2                    // in TTLs: some acquires wait for a holder's expiry
)

// length is about how long a trial of the plan takes in real time: what its
// script waits for and what its workload lasts. It need not be right, only
// alike for rows that are alike.
func length(p *trial.Plan) time.Duration {
	total := startLength
	for _, s := range p.Script {
		total += s.Wait.In(p.TTL)
		if s.Verb == scenarios.VerbAcquire {
			total += time.Duration(acquireLength * float64(p.TTL) * float64(len(s.Targets)))
		}
	}
	if p.Workload != nil {
		total += p.Workload.For.In(p.TTL)
	}
	return total
}

// Fingerprint tells suites apart: two have the same one if their rows are the
// same, scenarios' contents included, wherever their files lie.
func Fingerprint(jobs []Job) (string, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, j := range jobs {
		s := *j.Scenario
		s.File = ""
		j.Scenario = &s
		if err := encoder.Encode(j); err != nil {
			return "", fmt.Errorf("take the fingerprint of %s: %w", j.Name(), err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func rows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}
