// The page of the example. It holds no token: the browser sends the cookie, and the backend adds the token.

/** Another site can send this header only after a CORS preflight, which the backend refuses. */
const guard = { 'x-agent-auth': '1' }

const byId = (id) => document.getElementById(id)
const processes = new Set()
let tryAgain = () => {}
/** Tells the other tabs of this app to read the session again. */
const tabs = new BroadcastChannel('example-backend')

/** An error response of the backend or the API. */
class Refusal extends Error {
  constructor(status, { code, message, error_message, detail }) {
    const first = Array.isArray(detail) ? detail[0]?.msg : undefined
    super(message ?? error_message ?? first ?? `The service responded with status ${status}.`)
    this.status = status
    this.signedOut = code === 'login_required' || code === 'session_ended'
  }
}

async function send(path, options = {}) {
  const response = await fetch(path, options)
  processes.add(response.headers.get('x-process'))
  byId('processes').textContent = processes.size === 1 ? '1 process' : `${processes.size} processes`
  return response
}

async function post(path, body) {
  const headers = { ...guard, 'content-type': 'application/json' }
  const response = await send(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await response.json().catch(() => ({}))
  if (!response.ok || answer.success !== true) throw new Refusal(response.status, answer)
  return answer.data
}

/** Runs what the user started, and shows the error if it fails. */
async function attempt(work) {
  byId('problem').hidden = true
  try {
    await work()
  } catch (error) {
    if (error.signedOut) showSignedOut()
    showProblem(error)
    tryAgain = () => attempt(work)
  }
}

function showProblem(error) {
  const titles = { 401: 'Please sign in again', 403: 'You may not do this', 422: 'Something in the form is not right' }
  const refused = error instanceof Refusal
  byId('problem-title').textContent = refused ? (titles[error.status] ?? 'The request failed') : 'No connection'
  byId('problem-text').textContent = refused ? error.message : 'The app could not be reached. You are still signed in.'
  byId('problem-again').hidden = refused && error.status < 429
  byId('problem').hidden = false
}

function showSignedOut() {
  document.body.dataset.status = 'signed-out'
  byId('agents').replaceChildren()
  byId('count').textContent = ''
}

/** Inserts values as text, because data of a server must not become markup. */
function row(...cells) {
  const line = document.createElement('tr')
  for (const text of cells) line.insertCell().textContent = text
  return line
}

let searches = 0

async function showAgents() {
  const search = ++searches
  const sort = { column: 'agent_name', desc: false }
  const wanted = { limit: 50, offset: 0, search_value: byId('search-value').value, sort }
  const { items, count } = await post('/api/parent_agents/search', wanted)
  // The user has typed more, or signed out, before this response came.
  if (search !== searches || document.body.dataset.status !== 'signed-in') return
  const lines = items.map((agent) =>
    row(agent.agent_name, agent.agent_key, agent.parent_agent_type_key, agent.active ? 'on' : 'off'),
  )
  byId('agents').replaceChildren(...lines)
  byId('count').textContent = count === 1 ? '1 agent' : `${count} agents`
}

async function create(form) {
  await post('/api/parent_agents', { ...Object.fromEntries(new FormData(form)), active: true })
  form.reset()
  await showAgents()
}

/** Shows when the session ends, or that it has ended, for example in another tab. */
async function showSession() {
  const response = await send('/auth/session')
  const { status, endsAtMs, ...failure } = await response.json()
  if (!response.ok) throw new Refusal(response.status, failure)
  if (status === 'signed-out') return showSignedOut()
  byId('ends').textContent = new Date(endsAtMs).toLocaleDateString('en', { dateStyle: 'medium' })
}

async function signOut() {
  const response = await send('/auth/logout', { method: 'POST', headers: guard })
  if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})))
  tabs.postMessage('look')
  showSignedOut()
}

function showSessionIfSignedIn() {
  if (document.body.dataset.status === 'signed-in') void attempt(showSession)
}

function onSubmit(id, work) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault()
    void attempt(() => work(event.target))
  })
}

byId('sign-in').addEventListener('click', () => {
  location.assign(`/auth/login?return_to=${encodeURIComponent(location.pathname + location.search)}`)
})
byId('sign-out').addEventListener('click', () => attempt(signOut))
byId('problem-again').addEventListener('click', () => tryAgain())
onSubmit('search', showAgents)
onSubmit('create', create)
byId('search-value').addEventListener('input', () => attempt(showAgents))
byId('place').textContent = document.body.dataset.place

if (document.body.dataset.status === 'signed-in') {
  void attempt(() => Promise.all([showSession(), showAgents()]))
  tabs.addEventListener('message', showSessionIfSignedIn)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) showSessionIfSignedIn()
  })
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
}
