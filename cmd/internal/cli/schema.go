package cli

import (
	"github.com/spf13/cobra"

	"github.com/servegate/servegate/cmd/internal/config"
)

func newSchema(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the config",
		Long: `Print the JSON Schema (2020-12) of the config, for an editor's completion and checks.
In VS Code's YAML extension: # yaml-language-server: $schema=servegate.schema.json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(schema)
			return err
		},
	}
}
