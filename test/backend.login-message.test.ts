import { expect, test } from 'vitest'
import { backendRig } from './support/backend-rig.ts'

test('C-127 a login by fetch is refused with a message that says to link to it', async () => {
  const rig = await backendRig()
  const headers = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }
  const response = await rig.backend.handle(new Request('https://app.demo.example/auth/login', { headers }))
  expect(response?.status).toBe(403)
  expect(await response?.json()).toEqual({
    code: 'origin_forbidden',
    message: 'Login must be a page navigation, not fetch or a frame. Link to this URL.',
    retryable: false,
  })
  await rig.close()
})
