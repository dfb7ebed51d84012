/// The version that `--version` shows; `infra/package` appends the commit's time.
package let turnstoneVersion = "0.1"
