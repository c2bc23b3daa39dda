package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepeatedCallIDsAreDistinct(t *testing.T) {
	t.Parallel()
	var ids callIDs
	got := []string{ids.call("a"), ids.call("a"), ids.result("a"), ids.result("a"), ids.result("a"), ids.call("a"), ids.result("a"), ids.result("never")}
	if diff := cmp.Diff([]string{"a", "fl2_YQ", "a", "fl2_YQ", "fl2_YQ", "fl3_YQ", "fl3_YQ", "never"}, got); diff != "" {
		t.Error(diff)
	}
}
