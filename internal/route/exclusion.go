package route

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fairlead/internal/llm"
)

// Reason is a code for why a candidate is excluded.
type Reason string

// The reasons for which a candidate is excluded.
const (
	MissingCapability     Reason = "missing_capability"
	ContextTooSmall       Reason = "context_too_small"
	OutputLimitExceeded   Reason = "output_limit_exceeded"
	Retired               Reason = "retired"
	NotAllowedByKey       Reason = "not_allowed_by_key"
	ExcludedByPolicy      Reason = "excluded_by_policy"
	NotRequested          Reason = "not_requested"
	ProviderIgnored       Reason = "provider_ignored"
	PriceLimitExceeded    Reason = "price_limit_exceeded"
	PriceUnknown          Reason = "price_unknown"
	CircuitOpen           Reason = "circuit_open"
	CredentialBackingOff  Reason = "credential_backing_off"
	DataCollection        Reason = "data_collection"
	DataRetention         Reason = "data_retention"
	UnsupportedDimensions Reason = "unsupported_dimensions"
	NotPinned             Reason = "not_pinned"
	Unsupported           Reason = "unsupported_field"
)

// formerReasons maps the codes that older entries store to today's.
var formerReasons = map[string]Reason{
	"lacks_ability":      MissingCapability,
	"output_too_large":   OutputLimitExceeded,
	"key_forbids":        NotAllowedByKey,
	"policy_forbids":     ExcludedByPolicy,
	"too_dear":           PriceLimitExceeded,
	"credential_resting": CredentialBackingOff,
	"collects_data":      DataCollection,
	"keeps_data":         DataRetention,
	"wrong_dimensions":   UnsupportedDimensions,
}

// UnmarshalText reads a stored code, former ones included.
func (r *Reason) UnmarshalText(text []byte) error {
	*r = Reason(text)
	if renamed, ok := formerReasons[string(text)]; ok {
		*r = renamed
	}
	return nil
}

// Exclusion says why a candidate is out. Its words are put together only when somebody reads them: most decisions exclude
// many candidates, and few are looked at.
type Exclusion struct {
	Code Reason

	words  string // a sentence, or its form for one of the others
	who    string
	why    string
	a, b   int64
	dollar float64
	lacks  llm.Abilities
}

// NewExclusion returns an exclusion in given words.
func NewExclusion(code Reason, words string) Exclusion { return Exclusion{Code: code, words: words} }

// is writes down a reason, and reports that there is one.
func (x *Exclusion) is(reason Exclusion) bool {
	*x = reason
	return true
}

// Reason says it in words.
func (x *Exclusion) Reason() string {
	switch {
	case x.why != "":
		return fmt.Sprintf(x.words, x.who, x.why)
	case x.lacks != 0 && x.who != "":
		return fmt.Sprintf(x.words, x.who, strings.Join(x.lacks.Names(), ", "))
	case x.lacks != 0:
		return fmt.Sprintf(x.words, strings.Join(x.lacks.Names(), ", "))
	case x.dollar != 0:
		return fmt.Sprintf(x.words, x.dollar)
	case x.Code == CredentialBackingOff && x.a != 0:
		return fmt.Sprintf(x.words, x.who, time.Duration(x.a).Round(100*time.Millisecond))
	case x.b != 0:
		return fmt.Sprintf(x.words, x.a, x.b)
	case x.a != 0:
		return fmt.Sprintf(x.words, x.a)
	case x.who != "":
		return fmt.Sprintf(x.words, x.who)
	}
	return x.words
}

// exclusionJSON is an exclusion as it is stored and shown.
type exclusionJSON struct {
	Code   Reason `json:"code"`
	Reason string `json:"reason"`
}

// MarshalJSON writes code and words.
func (x Exclusion) MarshalJSON() ([]byte, error) {
	return json.Marshal(exclusionJSON{x.Code, x.Reason()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (x *Exclusion) UnmarshalJSON(data []byte) error {
	var stored exclusionJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*x = NewExclusion(stored.Code, stored.Reason)
	return nil
}

// Equal reports whether both say the same.
func (x Exclusion) Equal(other Exclusion) bool {
	return x.Code == other.Code && x.Reason() == other.Reason()
}
