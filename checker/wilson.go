package checker

import "math"

// Wilson returns the score interval at 95 % of the rate behind `violated` of `trials` (Wilson 1927): 0 of 300 means "at
// most 1.3 %", not "never". Rates are between 0 and 1. Without trials it is 0 to 1.
func Wilson(violated, trials int) (low, high float64) {
	if trials <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // the normal distribution's 97.5 % quantile
	n := float64(trials)
	rate := float64(violated) / n
	middle := (rate + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(rate*(1-rate)/n+z*z/(4*n*n))
	low, high = max(0, middle-half), min(1, middle+half)
	// Rounding must not move the ends of the scale.
	if violated <= 0 {
		low = 0
	}
	if violated >= trials {
		high = 1
	}
	return low, high
}
