// The option proxy and its paths.
import { expect, test } from 'vitest'
import { matchRoute, proxyRoutes } from '../../src/backend/proxy/allowed-routes.ts'
import { leastMs } from '../support/least-ms.ts'

const templates = ['GET /api/items/:id', 'GET /api/items/:id/parts/:part', 'GET /api/:kind/all', 'POST /api/items']
const routes = proxyRoutes(templates, '/auth')

test.each(['/', '.', '%2e', '%', '%C3%A9', 'a', '%25', ';', '%EF%BC%8F', '%EF%B7%BA'])(
  '100 KB of %j take less than 50 ms',
  async (unit) => {
    const long = unit.repeat(Math.ceil(100_000 / unit.length))
    for (const path of [`/${long}`, `/api/items/${long}`, `/api/items/a${long}/parts/x`])
      expect(await leastMs(() => matchRoute(routes, 'GET', path))).toBeLessThan(50)
  },
)
