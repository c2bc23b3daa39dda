package messagesconv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCallIDsAreReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id, n := someID.Draw(t, "id"), rapid.IntRange(1, 20).Draw(t, "n")
		encoded := encodeID(id, n)
		if !plainID.MatchString(encoded) {
			t.Fatalf("ID %q is encoded as %q, want plain characters", id, encoded)
		}
		if got := decodeID(encoded); got != id {
			t.Fatalf("ID %q is encoded as %q and decoded as %q", id, encoded, got)
		}
	})
}

func TestRepeatedCallIDsAreDistinct(t *testing.T) {
	t.Parallel()
	var ids callIDs
	got := []string{ids.call("a"), ids.call("a"), ids.result("a"), ids.result("a"), ids.result("a"), ids.call("a"), ids.result("a"), ids.result("never")}
	if diff := cmp.Diff([]string{"a", "fl2_YQ", "a", "fl2_YQ", "fl2_YQ", "fl3_YQ", "fl3_YQ", "never"}, got); diff != "" {
		t.Error(diff)
	}
}

var someID = rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_-]{1,12}`), rapid.StringMatching(`fl[0-9]_[a-z]{0,6}`), rapid.String())
