import { expect, test } from 'vitest'
import { checkTtlMs } from '../../src/storage/shared/leased-storage.ts'

test.each([undefined, 1, Number.MAX_SAFE_INTEGER])('ttlMs may be %s', (ttlMs) => {
  expect(() => checkTtlMs(ttlMs)).not.toThrow()
})

test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('ttlMs %s is config_invalid', (ttlMs) => {
  expect(() => checkTtlMs(ttlMs)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})
