import { createIsolatedAuth, type IsolatedAuth } from 'agent-auth/browser/isolated'
import type { TestApp } from './page-app.ts'

// An app whose tokens are in a worker. It offers the tests what page-app.ts does.

declare global {
  interface Window {
    isolated: IsolatedAuth
  }
}

// The policy of the app asks for trusted URLs of workers.
const { trustedTypes } = window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }
trustedTypes.createPolicy('default', {
  createScriptURL: (url: string) => (url.startsWith(location.origin) ? url : undefined),
})

const [, kind] = location.pathname.split('/')
const auth = createIsolatedAuth({
  worker: () => new Worker(new URL('./isolated-worker.ts', import.meta.url), { type: 'module' }),
  redirectUri: `${location.origin}/${kind}/callback`,
})
const codeOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name)
}
const search = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"limit":1,"offset":0}' }
const app = {
  auth,
  started: '',
  events: [],
  call: () => auth.fetch('/api/parent_agents/search', search).then(({ status }) => status, codeOf),
  codeOf: (work: Promise<unknown>) => work.then(() => 'resolved', codeOf),
}
window.isolated = auth
window.app = app as unknown as TestApp
// Twice, as a framework's development mode does.
void Promise.all([0, 1].map(() => app.codeOf(auth.ready()))).then(([code]) => {
  app.started = code === 'resolved' ? auth.session.state.status : String(code)
})
