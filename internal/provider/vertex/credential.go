package vertex

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google/externalaccount"
	"golang.org/x/oauth2/jwt"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

const (
	scope    = "https://www.googleapis.com/auth/cloud-platform"
	tokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, not a secret

	serviceAccount = "service_account"
	authorizedUser = "authorized_user"

	// externalAccount is the type for workload identity federation, which exchanges another identity provider's token for a Google token.
	externalAccount = "external_account"
)

// credential is a Google application default credentials file: a service account key, a user's credentials, or a federated identity.
type credential struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	TokenURL     string `json:"token_uri"`

	Email        string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`

	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	Audience         string                           `json:"audience"`
	SubjectTokenType string                           `json:"subject_token_type"`
	STSURL           string                           `json:"token_url"`
	ImpersonationURL string                           `json:"service_account_impersonation_url"`
	WorkforceProject string                           `json:"workforce_pool_user_project"`
	Subject          externalaccount.CredentialSource `json:"credential_source"`
	Impersonation    struct {
		Lifetime int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`
}

// subjectHosts returns the hosts from which the subject token of a federated identity is read.
func (c credential) subjectHosts() []string {
	var hosts []string
	if c.Type != externalAccount {
		return nil
	}
	for _, address := range []string{c.Subject.URL, c.Subject.RegionURL, c.Subject.IMDSv2SessionTokenURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			hosts = append(hosts, provider.HostPort(u))
		}
	}
	return hosts
}

// read decodes a credential file. For any other content, it returns a credential without a Type.
func read(secret string) credential {
	var c credential
	if !strings.HasPrefix(strings.TrimSpace(secret), "{") || json.Unmarshal([]byte(secret), &c) != nil {
		return credential{}
	}
	return c
}

func (c credential) project() string { return cmp.Or(c.ProjectID, c.QuotaProject) }

// parts returns the secret values of a credential file.
func (c credential) parts() []string { return []string{c.PrivateKey, c.ClientSecret, c.RefreshToken} }

// tokenURL returns the address of the token service: the configured address, or the address in the file if it belongs to Google. A
// credential file can be entered in the dashboard, so its token_uri must not determine where the credential is sent.
func (c credential) tokenURL(configured string) (string, error) {
	address := c.TokenURL
	if c.Type == externalAccount {
		if c.ImpersonationURL != "" && !googleURL(c.ImpersonationURL) {
			return "", llm.Errorf(llm.UpstreamAuth, "The service_account_impersonation_url of the Google Cloud credential is not an address of Google's token service.")
		}
		address = cmp.Or(c.STSURL, "https://sts.googleapis.com/v1/token")
	}
	switch {
	case configured != "":
		return configured, nil
	case address == "":
		return tokenURL, nil
	case !googleURL(address):
		return "", llm.Errorf(llm.UpstreamAuth, "The token_uri of the Google Cloud credential is not an address of Google's token service. Set options.token_url in the configuration file to use another token service.")
	}
	return address, nil
}

// googleURL reports whether an address belongs to Google's token services.
func googleURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.User == nil && slices.Contains([]string{
		"sts.googleapis.com", "sts.mtls.googleapis.com", "iamcredentials.googleapis.com", "iamcredentials.mtls.googleapis.com",
		"oauth2.googleapis.com", "oauth2.mtls.googleapis.com", "accounts.google.com", "www.googleapis.com",
	}, u.Host)
}

// fetch requests a token from the token service at address.
func (c credential) fetch(ctx context.Context, client *http.Client, address string) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	switch c.Type {
	case serviceAccount:
		account := jwt.Config{
			Email: c.Email, PrivateKey: []byte(c.PrivateKey), PrivateKeyID: c.PrivateKeyID,
			Scopes: []string{scope}, TokenURL: address,
		}
		return account.TokenSource(ctx).Token()
	case authorizedUser:
		person := oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret,
			Endpoint: oauth2.Endpoint{TokenURL: address, AuthStyle: oauth2.AuthStyleInParams},
		}
		return person.TokenSource(ctx, &oauth2.Token{RefreshToken: c.RefreshToken}).Token()
	case externalAccount:
		if c.Subject.Executable != nil {
			break // running programs is not supported
		}
		source, err := externalaccount.NewTokenSource(ctx, externalaccount.Config{
			Audience: c.Audience, SubjectTokenType: c.SubjectTokenType, TokenURL: address, Scopes: []string{scope},
			ServiceAccountImpersonationURL: c.ImpersonationURL, ServiceAccountImpersonationLifetimeSeconds: c.Impersonation.Lifetime,
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, CredentialSource: &c.Subject,
			QuotaProjectID: c.QuotaProject, WorkforcePoolUserProject: c.WorkforceProject,
		})
		if err != nil {
			return nil, err
		}
		return source.Token()
	}
	return nil, fmt.Errorf("credentials of type %q are not supported; use a service account, or an external account with a file, a URL or AWS as its source", c.Type)
}

const fileEnv = "GOOGLE_APPLICATION_CREDENTIALS"

// maxFile is the maximum size of a credential file. Typical files are two or three kilobytes long.
const maxFile = 64 << 10

// options reads project and location from the environment.
func options(lookup func(string) string) map[string]string {
	found := map[string]string{}
	for option, variables := range map[string][]string{ // variables of Google's tools and of common clients
		Project:      {"GOOGLE_VERTEX_PROJECT", "VERTEXAI_PROJECT", "GOOGLE_CLOUD_PROJECT"},
		Location:     {"GOOGLE_VERTEX_LOCATION", "VERTEXAI_LOCATION", "GOOGLE_CLOUD_LOCATION"},
		MetadataHost: {"GCE_METADATA_HOST"},
	} {
		for _, name := range variables {
			if value := strings.TrimSpace(lookup(name)); value != "" && found[option] == "" {
				found[option] = value
			}
		}
	}
	return found
}

// ambient reads the credential file that the environment names. If the environment names only a project, it reads the
// file written by gcloud auth application-default login. On Cloud Run it returns the machine's identity.
func ambient(lookup func(string) string) (secret, source string) {
	project := options(lookup)[Project]
	file, source := lookup(fileEnv), fileEnv
	if home := lookup("HOME"); file == "" && home != "" && project != "" {
		folder := cmp.Or(lookup("CLOUDSDK_CONFIG"), filepath.Join(home, ".config", "gcloud"))
		file, source = filepath.Join(folder, "application_default_credentials.json"), "gcloud"
	}
	secret = usable(file, project)
	if onGoogleCloud := lookup("K_SERVICE") != "" || lookup("GCE_METADATA_HOST") != ""; secret == "" && onGoogleCloud && lookup(fileEnv) == "" && project != "" {
		return provider.Identity, identityName // Cloud Run, or a metadata server named by the environment
	}
	if secret == "" {
		return "", ""
	}
	return secret, source
}

// usable returns the content of a credential file, or "" if the file cannot be used.
func usable(file, project string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	c := read(string(text))
	if !slices.Contains([]string{serviceAccount, authorizedUser, externalAccount}, c.Type) || cmp.Or(project, c.project()) == "" {
		return ""
	}
	return strings.TrimSpace(string(text))
}
