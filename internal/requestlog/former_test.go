package requestlog_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Entries written before values were renamed are read with today's values.
func TestFormerValuesAreRead(t *testing.T) {
	t.Parallel()
	var got struct {
		Body   requestlog.BodyState `json:"body"`
		Class  llm.Kind             `json:"class"`
		Reason route.Reason         `json:"reason"`
		Now    llm.Kind             `json:"now"`
	}
	want := got
	want.Body, want.Class, want.Reason, want.Now = requestlog.BodyDisabledForKey, llm.HedgeLost, route.PriceLimitExceeded, llm.UpstreamTimeout
	if err := json.Unmarshal([]byte(`{"body":"off_for_key","class":"outrun","reason":"too_dear","now":"timeout"}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
