import { invalid } from '../../internal/values.ts'

/** Checks the option `ttlMs` of a shared storage. Throws `config_invalid`. */
export function checkTtlMs(ttlMs: number | undefined): void {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs > 0))
    invalid('ttlMs must be a whole number of milliseconds above 0')
}
