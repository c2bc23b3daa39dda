package providerset

import (
	"cmp"
	"slices"
	"strings"

	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/azure"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/vertex"
)

// CustomVendor is the gallery's name for an endpoint of an unknown vendor.
const CustomVendor = "custom"

// galleryRow holds the vendor data that the gallery shows in addition to the fields of provider.Vendor.
type galleryRow struct {
	hint   string // description of the key format
	keys   string // URL of the page on which keys are created
	base   string // example of a base URL that the operator must enter
	fields []adminproviders.VendorField
}

// gallery holds the rows by vendor. The dashboard can set only the options listed in fields. All other options select files, token services
// or machine identities, and can be set only in the configuration file.
var gallery = map[string]galleryRow{
	"openai":        {hint: "sk-…", keys: "https://platform.openai.com/api-keys"},
	"anthropic":     {hint: "sk-ant-…", keys: "https://console.anthropic.com/settings/keys"},
	"gemini":        {hint: "AIza…", keys: "https://aistudio.google.com/apikey"},
	"mistral":       {keys: "https://console.mistral.ai/api-keys"},
	"deepseek":      {hint: "sk-…", keys: "https://platform.deepseek.com/api_keys"},
	"xai":           {hint: "xai-…", keys: "https://console.x.ai"},
	"groq":          {hint: "gsk_…", keys: "https://console.groq.com/keys"},
	"openrouter":    {hint: "sk-or-…", keys: "https://openrouter.ai/settings/keys"},
	"together":      {keys: "https://api.together.ai/settings/api-keys"},
	"fireworks":     {hint: "fw_…", keys: "https://app.fireworks.ai/settings/users/api-keys"},
	"deepinfra":     {keys: "https://deepinfra.com/dash/api_keys"},
	"cerebras":      {hint: "csk-…", keys: "https://cloud.cerebras.ai"},
	"cohere":        {keys: "https://dashboard.cohere.com/api-keys"},
	"perplexity":    {hint: "pplx-…", keys: "https://www.perplexity.ai/settings/api"},
	"alibaba":       {hint: "sk-…", keys: "https://modelstudio.console.alibabacloud.com"},
	"moonshot":      {hint: "sk-…", keys: "https://platform.moonshot.ai/console/api-keys"},
	"zai":           {keys: "https://z.ai/manage-apikey/apikey-list"},
	"nvidia":        {hint: "nvapi-…", keys: "https://build.nvidia.com/settings/api-keys"},
	"huggingface":   {hint: "hf_…", keys: "https://huggingface.co/settings/tokens"},
	"github_models": {hint: "github_pat_…", keys: "https://github.com/settings/personal-access-tokens"},
	"voyage":        {hint: "pa-…", keys: "https://dashboard.voyageai.com"},
	"jina":          {hint: "jina_…", keys: "https://jina.ai/api-dashboard"},
	"meta":          {base: "https://host/v1"},
	"cloudflare":    {keys: "https://dash.cloudflare.com/profile/api-tokens", base: "https://api.cloudflare.com/client/v4/accounts/ACCOUNT_ID/ai/v1"},
	"azure_ai":      {keys: "https://ai.azure.com", base: "https://RESOURCE.services.ai.azure.com/models"},
	"azure": {keys: "https://portal.azure.com", base: "https://RESOURCE.openai.azure.com", fields: []adminproviders.VendorField{
		{Name: azure.OptionVersion, Label: "API version", Example: "2024-10-21"},
	}},
	"bedrock": {hint: "Bedrock API key, or access key ID:secret access key", keys: "https://console.aws.amazon.com/bedrock/home#/api-keys", fields: []adminproviders.VendorField{
		{Name: bedrock.OptionRegion, Label: "Region", Example: "eu-central-1", Required: true},
	}},
	"vertex": {hint: "JSON of a service account key", keys: "https://console.cloud.google.com/iam-admin/serviceaccounts", fields: []adminproviders.VendorField{
		{Name: vertex.Project, Label: "Project ID", Example: "my-project"},
		{Name: vertex.Location, Label: "Location", Example: "europe-west4"},
	}},
}

// common lists the vendors that the gallery shows first.
var common = []string{"openai", "anthropic", "gemini", "mistral", "azure", "bedrock", "vertex", "openrouter", "groq", "deepseek", "xai", "together"}

// Gallery returns the vendors that can be connected, most common first, and a custom endpoint last.
func Gallery(known *catalog.Catalog) []adminproviders.Vendor {
	var list []adminproviders.Vendor
	for _, v := range vendors() {
		list = append(list, galleryVendor(v, known))
	}
	rank := func(v adminproviders.Vendor) int {
		if i := slices.Index(common, v.Name); i >= 0 {
			return i
		}
		return len(common)
	}
	slices.SortFunc(list, func(a, b adminproviders.Vendor) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)))
	})
	return append(list, adminproviders.Vendor{Name: CustomVendor, Label: "Custom endpoint", BaseURL: "https://host/v1", NeedsBaseURL: true})
}

func galleryVendor(v provider.Vendor, known *catalog.Catalog) adminproviders.Vendor {
	row := gallery[v.Name]
	one := adminproviders.Vendor{
		Name: v.Name, Label: v.Title, Format: v.Format, KeyHint: row.hint, KeyURL: row.keys, BaseURL: cmp.Or(row.base, v.BaseURL),
		NeedsBaseURL: row.base != "" || v.Local, NeedsKey: !v.Local, Fields: row.fields,
	}
	if strings.Contains(one.BaseURL, "{") { // do not suggest an address with a placeholder for an option or a variable
		one.BaseURL = ""
	}
	for _, offer := range known.Offers(v.Name) {
		if offer.Price != nil {
			one.Models++
		}
	}
	return one
}
