// Package catalogs implements "fairlead catalog".
package catalogs

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/catalog/bundle"
	"fairlead.dev/internal/catalogfile"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config/file"
)

// largestKey is the maximum size of a key or signature file.
const largestKey = 64 << 10

// New returns the catalog commands.
func New(c *cli.Console, o *cli.Options) *cobra.Command {
	return cli.Group("catalog", "Create, sign and verify catalog files", `  fairlead catalog keygen --out catalog.key
  fairlead catalog export --out catalog.txt
  fairlead catalog sign catalog.txt --key catalog.key
  fairlead catalog verify catalog.txt --public-key BASE64
  fairlead catalog show`, newKeygen(c, o), newExport(c, o), newSign(c, o), newVerify(c, o), newShow(c, o))
}

func newKeygen(c *cli.Console, o *cli.Options) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "keygen --out FILE", Short: "Generate a key pair for signing catalog files", Args: cli.NoArgs,
		Long: `Generate an Ed25519 key pair. The secret key is written to a file that only its owner can read; keep it off the gateway.
The public key is printed for catalog.file.public_keys.`,
		Example: `  fairlead catalog keygen --out catalog.key`,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return cli.Usagef("add  --out catalog.key", "no file is given for the secret key")
			}
			public, secret, err := bundle.GenerateKey()
			if err != nil {
				return err
			}
			if err := create(out, secret, 0o600); err != nil {
				return err
			}
			c.Infof(o, "secret key written to %s", cli.Clean(out))
			if o.JSON {
				return c.PrintJSON(map[string]string{"public_key": public, "secret_key_file": out})
			}
			return c.Print(public + "\n")
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write the secret key to, which must not exist")
	return cmd
}

func newExport(c *cli.Console, o *cli.Options) *cobra.Command {
	var out, date string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the built-in catalog as a catalog file", Args: cli.NoArgs,
		Long: `Write the built-in models and prices as a catalog file. Edit the tables, set the created line to the current time, and sign the
file.`,
		Example: `  fairlead catalog export --out catalog.txt`,
		RunE: func(*cobra.Command, []string) error {
			created := c.Now().UTC().Truncate(time.Second)
			if date != "" {
				at, err := time.Parse(time.RFC3339, date)
				if err != nil {
					return cli.Usagef("write a time such as 2026-11-17T00:00:00Z", "invalid time --created %q", cli.Clean(date))
				}
				created = at
			}
			tables, err := catalog.EmbeddedTables()
			if err != nil {
				return err
			}
			text := bundle.Format(created, tables)
			if out == "" {
				return c.Print(string(text))
			}
			if err := create(out, text, 0o644); err != nil {
				return err
			}
			c.Infof(o, "written to %s", cli.Clean(out))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write, which must not exist (default: standard output)")
	cmd.Flags().StringVar(&date, "created", "", "creation time recorded in the file (default: now)")
	return cmd
}

func newSign(c *cli.Console, o *cli.Options) *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use: "sign FILE --key KEYFILE", Short: "Validate a catalog file and write its signature to FILE.sig", Args: cli.OneArg("the catalog file"),
		Example: `  fairlead catalog sign catalog.txt --key catalog.key`,
		RunE: func(_ *cobra.Command, args []string) error {
			if keyFile == "" {
				return cli.Usagef("add  --key catalog.key", "no secret key is given")
			}
			b, err := open(args[0])
			if err != nil {
				return err
			}
			text, err := file.Read(keyFile, largestKey)
			if err != nil {
				return fmt.Errorf("read the secret key: %s", file.Describe(keyFile, err))
			}
			key, err := bundle.ParseSecret(text)
			if err != nil {
				return err
			}
			path := args[0] + catalogfile.SignatureSuffix
			if err := file.Replace(path, []byte(bundle.Sign(b.Text, key)+"\n")); err != nil {
				return err
			}
			if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // signatures are public
				return err
			}
			c.Infof(o, "signature written to %s; public key %s", cli.Clean(path), bundle.Public(key))
			return nil
		},
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file with the secret key")
	return cmd
}

func newVerify(c *cli.Console, o *cli.Options) *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check a catalog file as a server would", Args: cli.OneArg("the catalog file"),
		Long: `Check the signature in FILE.sig, the tables, and the changes against the active catalog. Without --public-key, the keys and the
limits of the configuration apply.`,
		Example: `  fairlead catalog verify catalog.txt
  fairlead catalog verify catalog.txt --public-key "$(cat catalog.pub)"`,
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := instance.LoadConfig(c, o, o.Flags())
			if err != nil {
				return err
			}
			source := loaded.Config.Catalog.File
			if len(keys) > 0 {
				source.PublicKeys, source.SHA256 = keys, ""
			}
			if len(source.PublicKeys) == 0 && source.SHA256 == "" {
				return cli.Usagef("add  --public-key BASE64,  or set catalog.file.public_keys", "no public key is configured")
			}
			active, err := catalogfile.Active(loaded.Config)
			if err != nil {
				return err
			}
			b, err := catalogfile.Check(args[0], source, active, c.Now())
			if err != nil {
				return fmt.Errorf("the gateway would reject %s: %w", cli.Clean(args[0]), err)
			}
			c.Infof(o, "acceptable")
			return show(c, o, b, args[0])
		},
	}
	cmd.Flags().StringSliceVar(&keys, "public-key", nil, "public key in base64 (repeatable)")
	return cmd
}

func newShow(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "show [FILE]", Short: "Show the date, content and SHA-256 of a catalog file, or of the active catalog", Args: cli.OptionalArg("a catalog file"),
		Example: `  fairlead catalog show
  fairlead catalog show catalog.txt --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				b, err := open(args[0])
				if err != nil {
					return err
				}
				return show(c, o, b, args[0])
			}
			loaded, err := instance.LoadConfig(c, o, o.Flags())
			if err != nil {
				return err
			}
			b, err := catalogfile.Active(loaded.Config)
			if err != nil {
				return err
			}
			source := "built-in"
			if b.Text != nil {
				source = loaded.Config.Catalog.File.Source
			}
			return show(c, o, b, source)
		},
	}
}

// view is the JSON form of a catalog.
type view struct {
	Source  string    `json:"source"`
	Created time.Time `json:"created"`
	Version string    `json:"version"`
	Models  int       `json:"models"`
	Offers  int       `json:"offers"`
	SHA256  string    `json:"sha256,omitempty"`
}

func show(c *cli.Console, o *cli.Options, b *bundle.Bundle, source string) error {
	v := view{Source: source, Created: b.Created.UTC(), Version: b.Catalog.Version(), Models: len(b.Catalog.Models()), Offers: len(b.Catalog.AllOffers())}
	if b.Text != nil {
		v.SHA256 = bundle.Sum(b.Text)
	}
	if o.JSON {
		return c.PrintJSON(v)
	}
	return c.Print(fmt.Sprintf("source   %s\ncreated  %s\nversion  %s\nmodels   %d\noffers   %d\nsha256   %s\n",
		cli.Clean(v.Source), v.Created.Format(time.RFC3339), v.Version, v.Models, v.Offers, cli.OrDash(v.SHA256)))
}

func open(path string) (*bundle.Bundle, error) {
	text, err := file.Read(path, bundle.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the catalog file: %s", file.Describe(path, err))
	}
	return bundle.Parse(text)
}

// create writes a new file. It returns an error if the file exists.
func create(path string, content []byte, mode os.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
