package admin

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/requestlog"
)

func TestSearchReturnsExcerpts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = []requestlog.Entry{entry(numbered(1), home), entry(numbered(2), home)}
	s.log.bodies = map[string]requestlog.Body{numbered(1): {
		Request:  []byte(`{"messages":[{"role":"user","content":"The \u003cb\u003econnection\u003c/b\u003e was\nreset"}]}`),
		Response: []byte(`{"choices":[{"message":{"role":"assistant","content":"Try again."}}]}`),
	}}
	var found requests.TextMatches

	s.call("GET", "/requests/search?limit=5&text="+url.QueryEscape(`connection reset -peer`), "", as("acc_owner")).want(200).into(&found)

	want := []requests.ExcerptSpan{{Text: "The <b>"}, {Text: "connection", Match: true}, {Text: "</b> was "}, {Text: "reset", Match: true}}
	if len(found.Matches) != 2 || len(found.Matches[0].Excerpt) != 0 {
		t.Fatalf("%+v", found)
	}
	if diff := cmp.Diff(want, found.Matches[1].Excerpt); diff != "" {
		t.Error(diff)
	}
}

func TestSearchIsRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/requests/search?text=", "/requests?text=", "/requests/count?text="} {
		for _, text := range []string{"-x", "!", `""`} {
			got := s.call("GET", path+url.QueryEscape(text), "", as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
			if got.Details.Param != "text" {
				t.Errorf("%s%s: the error names %q, want text", path, text, got.Details.Param)
			}
		}
		s.call("GET", path+"word", "", as("acc_viewer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
	}
}
