import { expect, test } from 'vitest'
import { networkCode } from '../../src/storage/shared/network-code.ts'

test.each(['ECONNREFUSED', 'EPIPE', 'EAI_AGAIN'])('%s is the code of a network failure', (code) => {
  expect(networkCode({ code })).toBe(code)
})

test.each(['a ECONNREFUSED', 'ECONNREFUSED record', 'EX', 'Erecord', 'NOAUTH', '', undefined, null, 7, ['EPIPE']])(
  'the code %j says nothing, because it could quote a record',
  (code) => {
    expect(networkCode({ code })).toBeUndefined()
  },
)
