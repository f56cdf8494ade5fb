package reports

import (
	"fmt"
	"math"
	"strconv"

	"example.org/lockproof/checker"
)

// Rate is a number of violations in a number of trials, with the bounds of the 95 % Wilson score interval (Wilson,
// 1927). Low and High are shares from 0 to 1; without trials they are 0 and 1.
type Rate struct {
	Violated int     `json:"violated"`
	Trials   int     `json:"trials"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

func newRate(violated, trials int) Rate {
	r := Rate{Violated: violated, Trials: trials, High: 1}
	if trials > 0 {
		r.Low, r.High = checker.Wilson(violated, trials)
	}
	return r
}

// String states the rate with the relevant bound: "0 of 300, at most 1.3 % at 95 %". It never says "never" or "always".
func (r Rate) String() string {
	switch {
	case r.Trials == 0:
		return "no trial decided"
	case r.Violated == 0:
		return fmt.Sprintf("0 of %d, at most %s at 95 %%", r.Trials, atMost(r.High))
	case r.Violated == r.Trials:
		return fmt.Sprintf("%d of %d, at least %s at 95 %%", r.Violated, r.Trials, atLeast(r.Low))
	}
	return fmt.Sprintf("%d of %d, %s to %s at 95 %%", r.Violated, r.Trials, atLeast(r.Low), atMost(r.High))
}

// rounding is the error of floating-point arithmetic on a round number; without it, rounding could add a whole digit.
const rounding = 1e-9

// atMost and atLeast write a share in per cent with two significant digits. They round outwards: the interval must not
// become narrower.
func atMost(share float64) string {
	return percent(share, func(x float64) float64 { return math.Ceil(x - rounding) })
}

func atLeast(share float64) string {
	return percent(share, func(x float64) float64 { return math.Floor(x + rounding) })
}

func percent(share float64, round func(float64) float64) string {
	p := share * 100
	if p <= 0 {
		return "0 %"
	}
	scale := math.Pow(10, 1-math.Floor(math.Log10(p)))
	return strconv.FormatFloat(round(p*scale)/scale, 'f', -1, 64) + " %"
}
