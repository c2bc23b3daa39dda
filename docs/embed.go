// Package docs embeds the documentation that the gateway serves at /docs.
package docs

import "embed"

// Files holds the Markdown pages and their images.
//
//go:embed *.md guides reference decisions images
var Files embed.FS
