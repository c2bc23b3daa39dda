// Package settings derives the settings of components from the configuration. The server and the command line share it.
package settings

import (
	"cmp"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/egress"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/ingress"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/realtime"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/sso"
	"fairlead.dev/internal/store/logstore"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/media"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// SpoolDir returns the spool directory.
func SpoolDir(c config.Config) string { return filepath.Join(c.DataDir, "spool") }

// Quota returns the account quota.
func Quota(c config.Accounts) account.Quota {
	return account.Quota{WorkspaceBudget: money.Amount(math.Round(c.WorkspaceBudget * float64(money.Dollar))), Workspaces: c.MaxWorkspaces, Keys: c.MaxKeys}
}

// SSO returns the single sign-on settings.
func SSO(c config.SSO) sso.Options {
	o := sso.Options{
		Issuer: c.Issuer, Name: c.Name, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: c.Scopes, GroupsClaim: c.GroupsClaim,
		AllowedDomains: c.AllowedDomains, Params: c.Params, TrustEmail: c.TrustEmail, LinkByEmail: c.LinkByEmail, Recheck: c.Recheck,
	}
	for _, g := range c.Groups {
		o.Groups = append(o.Groups, sso.Mapping{Group: g.Name, Workspace: g.Workspace, Role: account.Role(g.Role)})
	}
	return o
}

// SSOEgress returns the permitted addresses of the identity provider: public ones, its own host and those that the operator allows.
func SSOEgress(c config.Config) egress.Options {
	o := TenantEgress(c)
	if u, err := url.Parse(c.SSO.Issuer); err == nil && u.Host != "" {
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		o.AllowHosts = []string{net.JoinHostPort(u.Hostname(), port)}
	}
	return o
}

// PasswordAllowed reports whether an account may sign in with a password.
func PasswordAllowed(c config.SSO, email string) bool {
	return c.SignIn != "sso_only" || slices.ContainsFunc(c.BreakGlass, func(one string) bool { return strings.EqualFold(one, email) })
}

// Retention returns the default retention of the request log.
func Retention(c config.Log) logstore.Retention {
	return logstore.Retention{Entries: c.EntryRetention, Bodies: c.BodyRetention}
}

// PublicURL returns the settings that determine the base URL of links.
func PublicURL(c config.Config) ingress.PublicURL {
	return ingress.PublicURL{Configured: c.PublicURL, TrustProxy: c.TrustProxy}
}

// RoutesOf returns the routes of the configuration file.
func RoutesOf(c config.Config) []route.Route {
	var routes []route.Route
	for _, t := range c.Routing.Routes {
		one := route.Route{Name: t.Name, Pool: t.Pool, Tradeoff: t.Tradeoff, MinEffort: t.MinEffort, MaxEffort: t.MaxEffort}
		for _, share := range t.Shares {
			one.Shares = append(one.Shares, route.Share(share))
		}
		routes = append(routes, one)
	}
	return routes
}

// Gateway returns the settings of the model API.
func Gateway(c config.Config) gateway.Settings {
	return gateway.Settings{
		DefaultModel: c.DefaultModel, Routes: RoutesOf(c), AllowBrowsers: c.AllowBrowsers, AllowUnpriced: c.AllowUnpriced,
		LogBodies: c.Log.Bodies, BodyLimit: int64(c.Log.BodyLimit), MaxConcurrent: c.Limits.Concurrent,
		Upload: upload.Limits{Body: int64(c.Limits.Body), Total: int64(c.Limits.Buffered), Pause: c.Limits.BodyPause},
		Attempts: upstream.Settings{
			Attempts: c.Retries.Attempts, Backoff: c.Retries.Backoff, SlotWait: c.Limits.Wait,
			Idle: c.Timeouts.Idle, Total: c.Timeouts.Total,
		},
		Rescue: c.Rescue == "continue", Hold: 10 * time.Second, Ping: 15 * time.Second, ReadPause: c.Limits.ReadPause,
		Realtime:  realtime.Limits{Message: int64(c.Realtime.Message), Idle: c.Realtime.Idle, Total: c.Realtime.Total},
		PublicURL: PublicURL(c),
	}
}

// Routes returns the paths of the model API with their wire formats.
func Routes() []gateway.Route {
	openAI := openai.Format{Now: time.Now}
	return []gateway.Route{
		{Path: "/chat/completions", Op: llm.Chat, Format: openAI},
		{Path: "/embeddings", Op: llm.Embed, Format: openAI},
		{Path: "/completions", Op: llm.Complete, Format: openAI},
		{Path: "/moderations", Op: llm.Moderate, Format: openAI},
		{Path: "/responses", Op: llm.Chat, Format: responses.Format{Now: time.Now}},
		{Path: "/responses/input_tokens", Op: llm.Count, Format: responses.Format{}},
		{Path: "/messages", Op: llm.Chat, Format: anthropic.Format{}},
		{Path: "/messages/count_tokens", Op: llm.Count, Format: anthropic.Format{}},
		{Path: "/audio/speech", Op: llm.Speech, Format: media.Format{}},
		{Path: "/audio/transcriptions", Op: llm.Transcribe, Format: media.Format{}},
		{Path: "/images/generations", Op: llm.GenerateImages, Format: media.Format{}},
		{Path: "/rerank", Op: llm.Rerank, Format: media.Format{}},
		{Path: "/realtime", Op: llm.Realtime, Format: media.Format{}},
		{Path: "/files", Op: llm.FileObjects, Format: media.Format{}},
		{Path: "/batches", Op: llm.BatchObjects, Format: media.Format{}},
		{Path: "/generateContent", Op: llm.Chat, Format: gemini.Format{}},
		{Path: "/streamGenerateContent", Op: llm.Chat, Format: gemini.Format{Stream: true}},
		{Path: "/countTokens", Op: llm.Count, Format: gemini.Format{}},
		{Path: "/embedContent", Op: llm.Embed, Format: gemini.Format{}},
		{Path: "/batchEmbedContents", Op: llm.Embed, Format: gemini.Format{Batch: true}},
	}
}
