// The page of the example. It holds no token: the browser sends the cookie, and the backend adds the token.

import { createAgentApi, isAgentApiError } from 'agent-auth/api'
import { createBackendClient } from 'agent-auth/backend/client'

const auth = createBackendClient()
// The backend passes requests below /api on to the API.
const api = createAgentApi({ baseUrl: location.origin, fetch: auth.fetch, onResponse: showProcess })
const byId = (id) => document.getElementById(id)
const processes = new Set()
let tryAgain = () => {}
/** The sign-in whose agents are shown. */
let shownRef

/** Shows how many processes of the backend have responded. */
function showProcess({ headers }) {
  processes.add(headers.get('x-process'))
  byId('processes').textContent = processes.size === 1 ? '1 process' : `${processes.size} processes`
}

/** Runs what the user started, and shows the error if it fails. */
async function attempt(work) {
  byId('problem').hidden = true
  try {
    await work()
  } catch (error) {
    showProblem(error)
    tryAgain = () => attempt(work)
  }
}

function showProblem(error) {
  const titles = { 401: 'Please sign in again', 403: 'You may not do this', 422: 'Something in the form is not right' }
  const refused = isAgentApiError(error) && error.status !== undefined
  byId('problem-title').textContent = refused ? (titles[error.status] ?? 'The request failed') : 'No connection'
  byId('problem-text').textContent = refused ? textOf(error) : 'The app could not be reached. You are still signed in.'
  byId('problem-again').hidden = refused && error.status < 429
  byId('problem').hidden = false
}

/** Returns what the API says of the failure, or what the library does. */
function textOf({ message, errorMessage, faults }) {
  return errorMessage ?? faults[0]?.msg ?? message
}

/** Shows who is signed in, or that the session has ended, here or in another tab. */
function showState() {
  const { status, sessionRef, claims } = auth.state
  if (status === 'loading') return
  document.body.dataset.status = status
  byId('user').textContent = claims ? `${claims.claims.name ?? claims.subject}, ${claims.tenant}` : ''
  showCountdown()
  if (sessionRef === shownRef) return
  shownRef = sessionRef
  byId('agents').replaceChildren()
  byId('count').textContent = ''
  if (status === 'signed-in') void attempt(showAgents)
}

function showCountdown() {
  const seconds = Math.max(0, Math.floor(((auth.state.endsAtMs ?? 0) - Date.now()) / 1_000))
  const twoDigits = (number) => String(Math.floor(number)).padStart(2, '0')
  const time = [(seconds / 3_600) % 24, (seconds / 60) % 60, seconds % 60].map(twoDigits).join(':')
  byId('ends').textContent = `in ${Math.floor(seconds / 86_400)} d ${time}`
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
  const { items, count } = await api.parentAgents.search(wanted)
  // The user has typed more, or signed out, before this response came.
  if (search !== searches || auth.state.status !== 'signed-in') return
  const lines = items.map((agent) =>
    row(agent.agent_name, agent.agent_key, agent.parent_agent_type_key, agent.active ? 'on' : 'off'),
  )
  byId('agents').replaceChildren(...lines)
  byId('count').textContent = count === 1 ? '1 agent' : `${count} agents`
}

async function create(form) {
  await api.parentAgents.create({ ...Object.fromEntries(new FormData(form)), active: true })
  form.reset()
  await showAgents()
}

function onSubmit(id, work) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault()
    void attempt(() => work(event.target))
  })
}

byId('sign-in').addEventListener('click', () => attempt(() => auth.signIn()))
byId('sign-out').addEventListener('click', () => attempt(() => auth.signOut()))
byId('problem-again').addEventListener('click', () => tryAgain())
onSubmit('search', showAgents)
onSubmit('create', create)
byId('search-value').addEventListener('input', () => attempt(showAgents))
byId('place').textContent = document.body.dataset.place
auth.subscribe(showState)
setInterval(showCountdown, 1_000)
void attempt(() => auth.ready())
