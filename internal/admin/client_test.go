package admin

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.uber.org/goleak"

	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/admin/budgets"
	"fairlead.dev/internal/admin/comparison"
	"fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/admin/outcomes"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/admin/proofs"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/reports"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/admin/workspaces"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/requestlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is an admin API with in-memory dependencies, and a client that checks every response.
type site struct {
	*testing.T
	api      *adminapi.Server
	fake     *fake
	log      *entryLog
	fleet    *fleet
	feed     *requestlog.Feed
	policies *fakePolicies
	books    *policystore.Store
	past     *replayer
	rated    *ratings
	alerts   *fakeAlerts
	lines    *bytes.Buffer // captured log lines
	signOn   *signOn
	learner  *learner
}

func newSite(t *testing.T, change ...func(*Parts)) *site {
	t.Helper()
	s := &site{T: t}
	parts := s.newParts()
	for _, f := range change {
		f(&parts)
	}
	api, err := New(parts)
	if err != nil {
		t.Fatal(err)
	}
	s.api = api
	t.Cleanup(api.Close)
	return s
}

// newParts creates new in-memory dependencies of the API.
func (s *site) newParts() Parts {
	s.fake, s.fleet, s.feed, s.lines = newFake(), &fleet{enabled: map[string]bool{"acme": true}}, requestlog.NewFeed(), &bytes.Buffer{}
	s.log = &entryLog{bodies: map[string]requestlog.Body{}, groups: map[string][]requestlog.Group{}}
	s.policies, s.past, s.rated = &fakePolicies{versions: map[string][]policystore.Version{}}, &replayer{}, &ratings{log: s.log}
	s.learner = &learner{}
	s.books = policystore.New(s.policies, nil, namesOfAcme(), func() time.Time { return s.fake.now })
	s.signOn = &signOn{}
	fake := s.fake
	s.alerts = &fakeAlerts{}
	labels := &workspaces.Labels{Keys: fake, Members: fake, Names: fake}
	return Parts{
		Server: adminapi.Options{
			Sessions: fake, Memberships: fake, Keyring: fake, Audit: fake,
			Now: func() time.Time { return fake.now }, Log: slog.New(slog.NewTextHandler(s.lines, nil)),
		},
		Access: Access{
			Accounts: accounts.Deps{Sessions: fake, Registrar: fake, Profiles: fake, Factors: secondFactors{s.signOn}, Passkeys: fakePasskeys{s.signOn}, PasskeyList: fakePasskeys{s.signOn}, SSO: s.signOn, Memberships: fake, Facts: fake.accountFacts},
			Workspaces: workspaces.Deps{
				Workspaces: fake, Memberships: fake, Members: fake, Invitations: fake, Audit: fake, Labels: labels, Spending: fake,
				Models: s.fleet, DefaultRedaction: func() []string { return fake.Facts().Redact },
			},
			Keys: keys.Deps{Keys: fake, Figures: s.log, Spending: fake},
		},
		Requests: requests.Deps{
			Requests: s.log, Sessions: s.log, Budgets: s.log, Live: s.feed, Eraser: s.log, Verifier: s.past, Ratings: s.rated,
			Transcript: func(format string, body requestlog.Body) (request, response []byte) {
				if format != "messages" {
					return nil, nil
				}
				return append([]byte("chat of "), body.Request...), append([]byte("chat of "), body.Response...)
			},
		},
		Overview:   overview.Deps{Requests: s.log, Figures: s.log, Keys: fake, Spending: fake, Fleet: s.fleet, Instance: fake, Alerts: s.alerts.service(fake)},
		Alerts:     alerts.Deps{Alerts: s.alerts.service(fake)},
		Providers:  providers.Deps{Fleet: s.fleet, Prober: s.fleet, Credentials: s.fleet, Connector: s.fleet, Switch: s.fleet, Prices: s.fleet, Market: s.fleet, Figures: s.log},
		Proofs:     proofs.Deps{Figures: s.log, Keys: fake, Workspaces: fake, Log: s.log, Models: s.fleet},
		Budgets:    budgets.Deps{Budgets: fakeBudgets{}},
		Outcomes:   outcomes.Deps{Learner: s.learner},
		Comparison: comparison.Deps{Workspaces: fake, Comparer: &comparisons{}, Store: &comparisons{}, Models: s.fleet},
		Reports:    reports.Deps{Figures: sliceReader{}, Facts: sliceReader{}, Keys: fake, Members: fake},
		Routes:     routes.Deps{Router: fakeRouter{s.fleet}, Workspaces: fake},
		Policies: policies.Deps{
			Policies: s.books, Versions: s.books, Explainer: explainer{s.log}, Backtester: s.past, Requests: s.log, Figures: s.log, Keys: fake, Labels: labels,
			ReadOnly: func() string { return fake.Facts().PoliciesClosed }, ConfigFile: func() string { return fake.Facts().ConfigFile },
		},
	}
}

// with modifies a request before it is sent.
type with func(*http.Request)

func as(accountID string) with {
	return func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: adminapi.SessionCookie, Value: tokenOf(accountID)})
	}
}

func key(secret string) with { return header("Authorization", "Bearer "+secret) }

func header(name, value string) with {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// response is a recorded response.
type response struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// call sends a request to a path under /api/v1. A body is sent as JSON.
func (s *site) call(method, path, body string, changes ...with) response {
	s.Helper()
	return s.raw(method, adminapi.Prefix+path, body, changes...)
}

func (s *site) raw(method, path, body string, changes ...with) response {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range changes {
		change(r)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	a := response{w, s.T}
	s.check(r, a)
	return a
}

// check checks the properties that every response must have: a request ID, no CORS headers, the common error form, and a body that
// matches its schema.
func (s *site) check(r *http.Request, a response) {
	s.Helper()
	if a.Header().Get("X-Request-Id") == "" {
		s.Errorf("%s %s: no x-request-id", r.Method, r.URL)
	}
	if a.Header().Get("Access-Control-Allow-Origin") != "" {
		s.Errorf("%s %s: the response has a CORS header", r.Method, r.URL)
	}
	if a.Code >= 400 {
		a.fault()
		return
	}
	if a.Header().Get("Content-Type") == "application/json" {
		s.checkSchema(r, a)
	}
}

func (s *site) checkSchema(r *http.Request, a response) {
	s.Helper()
	op := s.operation(r)
	schema := op.Responses[statusText(a.Code)].Content["application/json"].Schema
	var body any
	a.into(&body)
	result := &huma.ValidateResult{}
	huma.Validate(s.api.Spec().Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, body, result)
	for _, err := range result.Errors {
		s.Errorf("%s %s: the response does not match its schema: %v", r.Method, r.URL, err)
	}
}

func statusText(code int) string {
	return string([]byte{byte('0' + code/100), byte('0' + code/10%10), byte('0' + code%10)})
}

// operation finds the documented operation of a request.
func (s *site) operation(r *http.Request) *huma.Operation {
	s.Helper()
	routes := http.NewServeMux()
	for _, op := range s.api.Operations() {
		routes.Handle(op.Method+" "+adminapi.Prefix+op.Path, http.NotFoundHandler())
	}
	_, pattern := routes.Handler(r)
	_, path, _ := strings.Cut(pattern, " ")
	item := s.api.Spec().Paths[strings.TrimPrefix(path, adminapi.Prefix)]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodHead: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[r.Method]
}

// into decodes the body.
func (a response) into(v any) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body.Bytes(), v); err != nil {
		a.t.Fatalf("%v in %s", err, a.Body)
	}
}

// fault decodes an error and checks its form.
func (a response) fault() adminapi.ErrorBody {
	a.t.Helper()
	var e adminapi.ErrorBody
	a.into(&e)
	if e.Error == "" || e.Code == "" || e.Details.Origin == "" || !strings.HasSuffix(e.Details.DocURL, "/docs/errors#"+e.Code) || e.Details.RequestID != a.Header().Get("X-Request-Id") {
		a.t.Errorf("error is incomplete: %s", a.Body)
	}
	if a.Header().Get("X-Fairlead-Error-Code") != e.Code || a.Header().Get("Content-Type") != "application/json" {
		a.t.Errorf("headers do not match the error: %v", a.Header())
	}
	return e
}

// want checks the status.
func (a response) want(status int) response {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status %d, want %d: %s", a.Code, status, a.Body)
	}
	return a
}

// rejected checks the status and the error code.
func (a response) rejected(status int, code string) adminapi.ErrorBody {
	a.t.Helper()
	a.want(status)
	e := a.fault()
	if e.Code != code {
		a.t.Fatalf("code %s, want %s: %s", e.Code, code, a.Body)
	}
	return e
}
