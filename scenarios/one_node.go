package scenarios

// OneNode names the variant that is the scenario's form for locks on one node, "" if
// it has none.
func (s *Scenario) OneNode() string {
	for _, v := range s.Variants {
		if v.Nodes == 1 && len(v.Without) == 0 && v.Lock == nil {
			return v.Name
		}
	}
	return ""
}
