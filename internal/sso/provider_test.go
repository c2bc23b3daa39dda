package sso_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const clientID = "fairlead"

// signingKey is shared by the tests, because generating a key takes longer than a test.
var signingKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// provider is an identity provider whose responses a test can falsify.
type provider struct {
	t      *testing.T
	server *httptest.Server
	now    func() time.Time

	mu       sync.Mutex
	claims   map[string]any                              // claims of the person
	falsify  func(claims map[string]any)                 // changes the claims of an ID token
	sign     func(claims map[string]any) (string, error) // signs the ID token; nil to use the provider's key
	metadata map[string]any                              // overrides fields of the provider metadata
	codes    map[string]url.Values                       // authorization requests by code
	refresh  map[string]bool                             // valid refresh tokens
	noToken  bool                                        // whether to return no refresh token
	noID     bool                                        // whether to return no ID token for a refresh token
	broken   bool                                        // whether every request fails
	revoked  bool                                        // whether to reject every refresh token
	refreshs int                                         // number of uses of refresh tokens
	info     map[string]any                              // claims of the userinfo endpoint
}

func newProvider(t *testing.T, now func() time.Time) *provider {
	t.Helper()
	p := &provider{
		t: t, now: now, codes: map[string]url.Values{}, refresh: map[string]bool{},
		claims: map[string]any{"sub": "ann-1", "email": "Ann@example.com", "email_verified": true, "name": "Ann", "groups": []string{"engineering"}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.serveMetadata)
	mux.HandleFunc("GET /keys", p.serveKeys)
	mux.HandleFunc("POST /token", p.serveToken)
	mux.HandleFunc("GET /userinfo", p.serveUserInfo)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.broken {
			http.Error(w, "maintenance", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	return p
}

// change changes the provider between two requests.
func (p *provider) change(f func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func (p *provider) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *provider) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	base := p.server.URL
	metadata := map[string]any{
		"issuer": base, "authorization_endpoint": base + "/auth", "token_endpoint": base + "/token", "jwks_uri": base + "/keys",
		"userinfo_endpoint": base + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
	}
	maps.Copy(metadata, p.metadata)
	p.write(w, metadata)
}

func (p *provider) serveKeys(w http.ResponseWriter, _ *http.Request) {
	p.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: signingKey().Public(), KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
}

// authorize simulates a sign-in at the authorization endpoint. It returns the code and the state.
func (p *provider) authorize(to string) (code, state string) {
	p.t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	if q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("code_challenge") == "" {
		p.t.Errorf("authorization request: %v", q)
	}
	code = rand.Text()
	p.change(func(p *provider) { p.codes[code] = q })
	return code, q.Get("state")
}

func (p *provider) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	nonce := ""
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := p.codes[r.Form.Get("code")]
		delete(p.codes, r.Form.Get("code"))
		challenge := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) || asked.Get("redirect_uri") != r.Form.Get("redirect_uri") {
			p.reject(w)
			return
		}
		nonce = asked.Get("nonce")
	case "refresh_token":
		p.refreshs++
		if !p.refresh[r.Form.Get("refresh_token")] || p.revoked {
			p.reject(w)
			return
		}
		delete(p.refresh, r.Form.Get("refresh_token")) // a used token is invalid, as at providers that rotate them
	}
	body := map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300}
	if nonce != "" || !p.noID {
		body["id_token"] = p.idToken(nonce)
	}
	if !p.noToken {
		token := rand.Text()
		p.refresh[token] = true
		body["refresh_token"] = token
	}
	p.write(w, body)
}

func (p *provider) reject(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	p.write(w, map[string]any{"error": "invalid_grant", "error_description": "canary-description"})
}

func (p *provider) serveUserInfo(w http.ResponseWriter, _ *http.Request) { p.write(w, p.info) }

func (p *provider) idToken(nonce string) string {
	claims := map[string]any{
		"iss": p.server.URL, "aud": clientID, "iat": p.now().Unix(), "exp": p.now().Add(time.Hour).Unix(),
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	maps.Copy(claims, p.claims)
	if p.falsify != nil {
		p.falsify(claims)
	}
	sign := p.sign
	if sign == nil {
		sign = func(claims map[string]any) (string, error) { return signed(jose.RS256, signingKey(), claims) }
	}
	text, err := sign(claims)
	if err != nil {
		p.t.Error(err)
	}
	return text
}

func signed(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "one"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// unsigned returns a token with alg none.
func unsigned(claims map[string]any) (string, error) {
	text, err := json.Marshal(claims)
	b64 := base64.RawURLEncoding
	return b64.EncodeToString([]byte(`{"alg":"none","kid":"one"}`)) + "." + b64.EncodeToString(text) + ".", err
}
