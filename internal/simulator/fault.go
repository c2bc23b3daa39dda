package simulator

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/internal/simulator/openai"
)

// Fault is a kind of failure of a simulated call.
type Fault string

// Faults of the first group return an error status, those of the second group replace the response, and those of the third change it.
const (
	Fault401           Fault = "401"
	Fault404           Fault = "404"
	Fault429           Fault = "429"
	Fault500           Fault = "500"
	Fault503           Fault = "503"
	Fault529           Fault = "529"
	FaultContentFilter Fault = "content_filter"
	FaultContextLength Fault = "context_length"

	FaultTimeout    Fault = "timeout"      // the simulator never responds
	FaultReset      Fault = "reset"        // the connection breaks before the status is sent
	FaultEmpty      Fault = "empty"        // 200 with an empty body
	FaultHTML       Fault = "html"         // 200 with a web page
	FaultGarbage    Fault = "garbage"      // 200 with malformed JSON
	FaultErrorIn200 Fault = "error_in_200" // 200 with an error object

	FaultSlowStart     Fault = "slow_start"      // the first token is very late
	FaultRoleThenError Fault = "role_then_error" // a stream that fails before its first token
	FaultCut           Fault = "cut"             // the connection breaks halfway through the response
	FaultStall         Fault = "stall"           // no data follows the first half of the response
	FaultNoUsage       Fault = "no_usage"        // the response has no usage
	FaultAbsurdUsage   Fault = "absurd_usage"    // negative and enormous token counts
)

// Faults lists every fault.
func Faults() []Fault {
	return []Fault{
		Fault401, Fault404, Fault429, Fault500, Fault503, Fault529, FaultContentFilter, FaultContextLength,
		FaultTimeout, FaultReset, FaultEmpty, FaultHTML, FaultGarbage, FaultErrorIn200,
		FaultSlowStart, FaultRoleThenError, FaultCut, FaultStall, FaultNoUsage, FaultAbsurdUsage,
	}
}

// FaultRule makes calls fail until the rule is cleared or Times calls have failed.
type FaultRule struct {
	Model string  `json:"model"` // empty for every model
	Fault Fault   `json:"fault"`
	Rate  float64 `json:"rate"`  // share of calls that fail, evenly spread; 0 and 1 mean all of them
	Times int     `json:"times"` // remaining failures; 0 for no limit
}

// SetFault activates a fault. It replaces the rule for the same model and fault.
func (s *Simulator) SetFault(rule FaultRule) error {
	if !slices.Contains(Faults(), rule.Fault) {
		return fmt.Errorf("unknown fault %q; known faults are %s", rule.Fault, faultNames())
	}
	if rule.Rate < 0 || rule.Rate > 1 || rule.Times < 0 {
		return fmt.Errorf("fault %s: rate must be from 0 to 1 and times not negative", rule.Fault)
	}
	if rule.Model != "" && !slices.ContainsFunc(s.profiles, func(p profile) bool { return p.name == rule.Model }) {
		return fmt.Errorf("fault %s: no simulated model is named %q", rule.Fault, rule.Model)
	}
	b := s.faults
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules = slices.DeleteFunc(b.rules, func(r *activeRule) bool { return r.Model == rule.Model && r.Fault == rule.Fault })
	b.rules = append(b.rules, &activeRule{FaultRule: rule})
	return nil
}

// Faults lists the active rules in the order in which they were set.
func (s *Simulator) Faults() []FaultRule {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	rules := make([]FaultRule, 0, len(s.faults.rules))
	for _, r := range s.faults.rules {
		rules = append(rules, r.FaultRule)
	}
	return rules
}

// ClearFaults deactivates the faults of a model, or all faults when model is empty.
func (s *Simulator) ClearFaults(model string) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rules = slices.DeleteFunc(s.faults.rules, func(r *activeRule) bool { return model == "" || r.Model == model })
}

// faultBox holds the active rules.
type faultBox struct {
	mu    sync.Mutex
	rules []*activeRule
}

type activeRule struct {
	FaultRule
	due float64 // increases by the rate with each call; a call fails when it reaches 1
}

// pick returns the fault for one call, or "".
func (b *faultBox) pick(model string) Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.rules {
		if r.Model != "" && r.Model != model {
			continue
		}
		if r.Rate > 0 && r.Rate < 1 {
			if r.due += r.Rate; r.due < 1 {
				continue
			}
			r.due--
		}
		if r.Times == 1 {
			b.rules = slices.Delete(b.rules, i, i+1)
		} else if r.Times > 1 {
			r.Times--
		}
		return r.Fault
	}
	return ""
}

// parseFaults parses metadata.simulate, a comma-separated list of faults, and returns the first fault that applies to model.
// A fault with the suffix @name applies only to the model with that name; a fault without a suffix applies to all models.
func parseFaults(label, model string) (Fault, error) {
	found := Fault("")
	for part := range strings.SplitSeq(label, ",") {
		name, only, limited := strings.Cut(strings.TrimSpace(part), "@")
		if name == "" {
			continue
		}
		if !slices.Contains(Faults(), Fault(name)) {
			return "", openai.BadRequest(fmt.Sprintf("Unknown fault '%s' in metadata.simulate; known faults are %s.", name, faultNames()), "metadata", "invalid_value")
		}
		if found == "" && (!limited || only == model) {
			found = Fault(name)
		}
	}
	return found, nil
}

func faultNames() string {
	names := []string{}
	for _, f := range Faults() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}
