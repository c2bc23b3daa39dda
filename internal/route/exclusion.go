package route

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
)

// Reason is the code of an exclusion.
type Reason string

// Exclusion reasons.
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
	QuotaExhausted        Reason = "quota_exhausted"
	DataCollection        Reason = "data_collection"
	DataRetention         Reason = "data_retention"
	UnsupportedDimensions Reason = "unsupported_dimensions"
	NotPinned             Reason = "not_pinned"
	Unsupported           Reason = "unsupported_field"
	OverBudget            Reason = "over_budget"
)

// Temporary reports whether the reason is the present state of the target rather than the request or the configuration.
func (r Reason) Temporary() bool {
	return r == CircuitOpen || r == CredentialBackingOff || r == QuotaExhausted
}

// Exclusion is the reason why a candidate cannot be chosen. The sentence that Reason returns is formatted on demand, because most decisions
// exclude many candidates, but few decisions are displayed.
type Exclusion struct {
	Code Reason

	format  string // sentence, or a format string for the fields below
	subject string
	cause   string
	a, b    int64
	dollar  float64
	lacks   llm.Abilities
}

// NewExclusion returns an exclusion with a fixed sentence.
func NewExclusion(code Reason, sentence string) Exclusion {
	return Exclusion{Code: code, format: sentence}
}

// set stores the reason and returns true.
func (x *Exclusion) set(reason Exclusion) bool {
	*x = reason
	return true
}

// Reason returns the reason as a sentence.
func (x *Exclusion) Reason() string {
	switch {
	case x.cause != "":
		return fmt.Sprintf(x.format, x.subject, x.cause)
	case x.lacks != 0 && x.subject != "":
		return fmt.Sprintf(x.format, x.subject, strings.Join(x.lacks.Names(), ", "))
	case x.lacks != 0:
		return fmt.Sprintf(x.format, strings.Join(x.lacks.Names(), ", "))
	case x.dollar != 0:
		return fmt.Sprintf(x.format, x.dollar)
	case (x.Code == CredentialBackingOff || x.Code == QuotaExhausted) && x.a != 0:
		return fmt.Sprintf(x.format, x.subject, time.Duration(x.a).Round(100*time.Millisecond))
	case x.b != 0:
		return fmt.Sprintf(x.format, x.a, x.b)
	case x.a != 0:
		return fmt.Sprintf(x.format, x.a)
	case x.subject != "":
		return fmt.Sprintf(x.format, x.subject)
	}
	return x.format
}

// exclusionJSON is the stored form of an Exclusion.
type exclusionJSON struct {
	Code   Reason `json:"code"`
	Reason string `json:"reason"`
}

// MarshalJSON encodes the code and the reason, formatted as a sentence.
func (x Exclusion) MarshalJSON() ([]byte, error) {
	return json.Marshal(exclusionJSON{x.Code, x.Reason()})
}

// UnmarshalJSON reads the format written by MarshalJSON.
func (x *Exclusion) UnmarshalJSON(data []byte) error {
	var stored exclusionJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*x = NewExclusion(stored.Code, stored.Reason)
	return nil
}

// Equal reports whether both exclusions have the same stored form.
func (x Exclusion) Equal(other Exclusion) bool {
	return x.Code == other.Code && x.Reason() == other.Reason()
}
