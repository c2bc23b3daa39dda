// Package docs embeds the documentation that the gateway serves at /docs.
package docs

import "embed"

// Files holds the Markdown pages for users and their images.
//
//go:embed *.md guides reference images
var Files embed.FS
