package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestTagsCannotReplaceKeyTags(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	key := map[string]string{"team": "search", "Env": "prod", long: "key"}
	for name, header := range map[string]string{
		"same name":              "team=billing, Env=test",
		"other case":             "TEAM=billing, env=test",
		"spaces":                 "team =billing,  Env\t=test",
		"without a value":        "team, Env",
		"twice":                  "team=a, team=b",
		"equal after shortening": long + "y=request",
	} {
		if diff := cmp.Diff(key, readTags(key, http.Header{"X-Fairlead-Tags": {header}})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	got := readTags(map[string]string{"team": "search"}, http.Header{"X-Fairlead-Tags": {"run = 7, team=x, stage"}})
	if diff := cmp.Diff(map[string]string{"team": "search", "run": "7", "stage": ""}, got); diff != "" {
		t.Error(diff)
	}
}
