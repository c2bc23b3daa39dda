package admin

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/feedback"
)

func TestRatingReplacesEarlierRating(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = append(s.log.entries, entry("req_home", home))
	rate := func(body string) requests.RatingView {
		t.Helper()
		var got requests.RatingView
		s.call("POST", "/requests/req_home/feedback", body, as("acc_developer")).want(200).into(&got)
		return got
	}
	first := rate(`{"label":"thumbs up","comment":"as it should be"}`)
	want := requests.RatingView{
		ID: "rat_1", RequestID: "req_home", At: noon, Score: 1, Label: new("thumbs_up"), Comment: new("as it should be"), Source: "dashboard",
		AccountID: new("acc_developer"), Mine: true, Model: s.log.entries[0].Model, Task: "code",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	if second := rate(`{"score":0.25}`); second.Score != 0.25 || second.Label != nil {
		t.Errorf("%+v", second)
	}
	good, worse := `{"score":1,"label":"thumbs_up"}`, `{"score":0.25}`
	if diff := cmp.Diff([]note{{"request.rate", "req_home", "", good}, {"request.rate", "req_home", good, worse}}, s.fake.noted); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidRatingsAreRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = append(s.log.entries, entry("req_home", home))
	for body, param := range map[string]string{
		`{}`:                         "score",
		`{"score":1.5}`:              "score",
		`{"score":1,"label":"good"}`: "label",
		`{"label":"splendid"}`:       "label",
	} {
		e := s.call("POST", "/requests/req_home/feedback", body, as("acc_owner")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if e.Details.Param != param {
			t.Errorf("%s: got %+v, want an error for %s", body, e, param)
		}
	}
	s.call("POST", "/requests/req_other/feedback", `{"score":1}`, as("acc_owner")).rejected(http.StatusNotFound, "NOT_FOUND")
	if len(s.rated.given) != 0 || len(s.fake.noted) != 0 {
		t.Errorf("invalid ratings: stored %v, audit log %v; want neither", s.rated.given, s.fake.noted)
	}
}

func TestFeedbackHidesCommentsFromViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.log.entries = append(s.log.entries, entry("req_home", home))
	s.rated.given = []feedback.Rating{
		{ID: "rat_1", RequestID: "req_home", WorkspaceID: home, KeyID: "key_inference", Time: noon, Score: 0, Comment: "it said: secret", Source: feedback.FromAPI},
	}
	read := func(who string) []requests.RatingView {
		t.Helper()
		var list requests.RatingList
		s.call("GET", "/requests/req_home/feedback", "", as(who)).want(200).into(&list)
		return list.Ratings
	}
	got := read("acc_developer")
	if len(got) != 1 || *got[0].Comment != "it said: secret" || *got[0].KeyID != "key_inference" || got[0].Mine {
		t.Errorf("%+v", got)
	}
	if got := read("acc_viewer"); got[0].Comment != nil {
		t.Error("a viewer can read comments")
	}
	s.call("GET", "/requests/req_none/feedback", "", as("acc_viewer")).rejected(http.StatusNotFound, "NOT_FOUND")
}
