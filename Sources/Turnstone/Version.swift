/// What `--version` says; `infra/package` puts the commit's time behind it.
package let turnstoneVersion = "0.1"
